//! The named schemas of the description: those of answers come from their types, those of requests from
//! the constants that their readers use.

use serde_json::json;
use tidegate_core::{Dimension, MAX_EXACT, Name, Ticket, Values};
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, KnownFormat, Object, ObjectBuilder,
    OneOfBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::examples;
use crate::routes::ReadyAnswer;
use crate::wire::answers::{DecisionAnswer, SettledAnswer};
use crate::wire::ask::MAX_FACT;
use crate::wire::listing::{ExplainAnswer, PoliciesAnswer};
use crate::wire::requests::MAX_BATCH;
use tidegate_tower::answer::Code;

type Named = (String, RefOr<Schema>);

/// All named schemas.
pub(super) fn all() -> Vec<Named> {
    let mut all = vec![
        ("Ask".to_owned(), ask().into()),
        ("Subject".to_owned(), subject().into()),
        ("Batch".to_owned(), batch().into()),
        ("Settlement".to_owned(), settlement().into()),
        ("BatchResults".to_owned(), batch_results().into()),
        ("Problem".to_owned(), problem().into()),
    ];
    add::<DecisionAnswer<'static>>(&mut all);
    add::<SettledAnswer>(&mut all);
    add::<PoliciesAnswer<'static>>(&mut all);
    add::<ExplainAnswer<'static>>(&mut all);
    add::<ReadyAnswer>(&mut all);
    let block = all.iter_mut().find(|(name, _)| name == "Block");
    if let Some((_, RefOr::T(Schema::Object(block)))) = block {
        block.examples.push(examples::block());
    }
    all
}

/// Adds the schema of a type, and those of the types it is made of.
fn add<T: ToSchema + PartialSchema>(all: &mut Vec<Named>) {
    all.push((T::name().into_owned(), T::schema()));
    T::schemas(all);
}

/// A reference to the schema of this name.
pub(super) fn named(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

// === requests ===

fn ask() -> Object {
    strict()
        .description(Some("A request to be decided"))
        .property("policy", policy())
        .required("policy")
        .property("subject", named("Subject"))
        .property(
            "cost",
            cost(1).description(Some("The cost of the request")).default(Some(json!(1))),
        )
        .examples([examples::ask()])
        .build()
}

fn subject() -> Object {
    let facts = Dimension::told()
        .fold(strict(), |facts, dimension| facts.property(dimension.name(), fact(dimension)));
    let description = "What is known about who asks. An empty value counts as absent, except for \
                       the account: an empty name is a guess too.";
    facts.description(Some(description)).build()
}

fn batch() -> Object {
    let requests = ArrayBuilder::new()
        .items(named("Ask"))
        .min_items(Some(1))
        .max_items(Some(MAX_BATCH))
        .description(Some("Each is decided by itself, in order"));
    strict().property("requests", requests).required("requests").build()
}

fn settlement() -> Object {
    let ticket = text()
        .max_length(Some(Ticket::MAX_TEXT))
        .description(Some("The ticket that came with the decision"));
    strict()
        .property("ticket", ticket)
        .required("ticket")
        .property("cost", cost(0).description(Some("What it really was; 0 gives all of it back")))
        .required("cost")
        .examples([examples::settlement()])
        .build()
}

/// The schema of the answer to a batch, the one answer without a type: it is written piece by piece.
fn batch_results() -> Object {
    let result = OneOfBuilder::new()
        .item(named("Decision"))
        .item(named("Problem"))
        .description(Some("A decision, or why there is none"));
    let results = ArrayBuilder::new()
        .items(result)
        .min_items(Some(1))
        .max_items(Some(MAX_BATCH))
        .description(Some("One for each request, in the same order"));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("results", results)
        .required("results")
        .build()
}

/// The schema of a problem document, whose writer knows no schemas.
fn problem() -> Object {
    let whole = || ObjectBuilder::new().schema_type(Type::Integer);
    let at = "At the gate, when the request was refused, by the clock of the store, or of the server if \
              the store did not decide";
    let date_time = SchemaFormat::KnownFormat(KnownFormat::DateTime);
    let codes = Some(Code::ALL.map(Code::name));
    let members = [
        ("type", text(), "The kind of problem; `about:blank` where the status says it all"),
        ("title", text(), "The kind in words, the same for every problem of its kind"),
        ("status", whole().minimum(Some(400.0)).maximum(Some(599.0)), "The HTTP status"),
        ("code", text().enum_values(codes), "The reason, for programs that branch on it"),
        ("detail", text(), "What is wrong this time, and what to do about it"),
        ("field", text(), "The field that is wrong, as a JSON pointer into the body or query"),
        ("suggestion", text(), "The name that may have been meant"),
        ("retry_after", whole().minimum(Some(0.0)), "Seconds until it makes sense to ask again"),
        ("request_id", text(), "At the gate, the id of the request, as in `X-Request-Id`"),
        ("timestamp", text().format(Some(date_time)), at),
    ];
    let object = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("What is wrong, and where"));
    let required = ["type", "title", "status", "code"];
    let object = required.into_iter().fold(object, ObjectBuilder::required);
    let add = |object: ObjectBuilder, (name, schema, what): (&str, ObjectBuilder, _)| {
        object.property(name, schema.description(Some(what)))
    };
    members.into_iter().fold(object, add).build()
}

// === their parts ===

/// Any text.
pub(super) fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// An object with no other properties than those named.
fn strict() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

/// The schema of a policy's name.
pub(super) fn policy() -> ObjectBuilder {
    text()
        .min_length(Some(1))
        .max_length(Some(Name::MAX_LEN))
        .pattern(Some("^[a-z0-9_.-]+$"))
        .description(Some("The policy whose limits decide"))
        .examples([json!("api")])
}

/// The schema of a fact.
pub(super) fn fact(dimension: Dimension) -> Schema {
    let meaning = Some(dimension.meaning());
    let example = [json!(dimension.example())];
    match dimension.values() {
        Values::Text | Values::Private | Values::Accounts => {
            text().max_length(Some(MAX_FACT)).description(meaning).examples(example).into()
        }
        Values::Addresses(_) => {
            let of = |format| text().format(Some(SchemaFormat::KnownFormat(format)));
            AnyOfBuilder::new()
                .item(of(KnownFormat::Ipv4))
                .item(of(KnownFormat::Ipv6))
                .description(meaning)
                .examples(example)
                .into()
        }
    }
}

/// The schema of a cost of at least `least` units.
#[expect(clippy::cast_precision_loss, reason = "the bounds are exact in a float")]
pub(super) fn cost(least: u64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(least as f64))
        .maximum(Some(MAX_EXACT as f64))
}
