//! `/v1/settle`: correcting what a request was charged to what it really cost.

use tidegate_core::{StoreError, TicketError};
use tidegate_engine::SettleError;

use super::decide::overloaded;
use crate::answer::{self, Answer};
use crate::state::ServerState;
use crate::wire::answers::SettledAnswer;
use crate::wire::requests;
use tidegate_core::Store;
use tidegate_tower::answer::{Code, Problem};

/// Settles a request: what it was charged for becomes what it really cost.
pub(crate) async fn settle<S: Store + 'static>(
    shared: &ServerState<S>,
    body: &[u8],
) -> Result<Answer, Problem> {
    let asked = requests::settle(body)?;
    let settled = shared.engine.settle(&asked.ticket, asked.cost).await;
    let settled = settled.map_err(|error| unsettled(&error))?;
    Ok(answer::document(&SettledAnswer { returned: settled.returned, added: settled.added }))
}

#[cold]
fn unsettled(error: &SettleError) -> Problem {
    let (kind, field) = match error {
        SettleError::Ticket(TicketError::Malformed | TicketError::Altered) => {
            (Code::BadTicket, "/ticket")
        }
        SettleError::Ticket(TicketError::Settled) => (Code::TicketSettled, "/ticket"),
        SettleError::Ticket(TicketError::Expired) => (Code::TicketExpired, "/ticket"),
        SettleError::Weight(_) => (Code::InvalidField, "/cost"),
        SettleError::Store(StoreError::Contended) => {
            return overloaded("too many requests at once; nothing was settled");
        }
        SettleError::Store(_) => return Code::StoreFailed.problem(error.to_string()),
    };
    kind.problem(error.to_string()).about(field)
}
