//! `/v1/settle`: correcting what a request was charged to what it really cost.

use tidegate_core::{StoreError, TicketError};
use tidegate_engine::SettleError;

use super::decide::{overloaded, write};
use crate::answer::{self, Answer};
use crate::problem::{Kind, Problem};
use crate::state::Worker;
use crate::wire::answers::SettledAnswer;
use crate::wire::requests;
use tidegate_core::Store;

/// Settles a request: what it was charged for becomes what it really cost.
pub(crate) async fn settle<S: Store + 'static>(
    worker: &Worker<S>,
    body: &[u8],
) -> Result<Answer, Problem> {
    let asked = requests::settle(body)?;
    let settled = worker.shared.engine.settle(&asked.ticket, asked.cost).await;
    let settled = settled.map_err(|error| unsettled(&error))?;
    let mut document = Vec::with_capacity(64);
    write(&mut document, &SettledAnswer { returned: settled.returned, added: settled.added });
    Ok(answer::json(document))
}

#[cold]
fn unsettled(error: &SettleError) -> Problem {
    let (kind, field) = match error {
        SettleError::Ticket(TicketError::Malformed | TicketError::Altered) => {
            (Kind::BadTicket, "/ticket")
        }
        SettleError::Ticket(TicketError::Settled) => (Kind::TicketSettled, "/ticket"),
        SettleError::Ticket(TicketError::Expired) => (Kind::TicketExpired, "/ticket"),
        SettleError::Weight(_) => (Kind::InvalidField, "/cost"),
        SettleError::Store(StoreError::Contended) => {
            return overloaded("too many requests at once; nothing was settled");
        }
        SettleError::Store(_) => return Kind::StoreFailed.problem(error.to_string()),
    };
    kind.problem(error.to_string()).about(field)
}
