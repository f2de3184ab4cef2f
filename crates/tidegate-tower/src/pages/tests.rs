//! Who makes a page, and who is given which.

use std::sync::atomic::AtomicUsize;

use tidegate_core::PolicySet;
use tokio::runtime::Runtime;

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn set() -> Arc<PolicySet> {
    Arc::new(PolicySet::builder().build(None).unwrap())
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn at(set: &Arc<PolicySet>, millis: u64) -> WantedPage<'_> {
    WantedPage::new(set, NOW.after(Span::from_millis(millis)))
}

fn text(text: &'static str) -> impl FnOnce() -> Option<Bytes> + Send + 'static {
    move || Some(Bytes::from_static(text.as_bytes()))
}

fn never() -> impl FnOnce() -> Option<Bytes> + Send + 'static {
    || panic!("it was not to be made")
}

#[test]
fn t12_a_page_is_made_once_a_second_and_shared() {
    let (page, set) = (Arc::new(SharedPage::default()), set());
    runtime().block_on(async {
        let first = page.read(at(&set, 0), text("first")).await.unwrap();
        let again = page.read(at(&set, 999), never()).await.unwrap();
        assert_eq!((&*first, &*again), (&b"first"[..], &b"first"[..]));
        assert_eq!(first.as_ptr(), again.as_ptr(), "the same bytes, not a copy");
        assert_eq!(page.read(at(&set, 1_000), text("second")).await.unwrap(), "second");
        assert_eq!(page.read(at(&set, 1_500), never()).await.unwrap(), "second");
        let before = page.read(at(&set, 500), text("a clock set back")).await.unwrap();
        assert_eq!(before, "a clock set back", "a page of the future is no page");
    });
}

#[test]
fn t12_a_page_is_made_off_the_threads_that_serve() {
    let (page, set) = (Arc::new(SharedPage::default()), set());
    let serving = std::thread::current().id();
    let (sender, told) = std::sync::mpsc::channel();
    let make = move || {
        sender.send(std::thread::current().id()).unwrap();
        Some(Bytes::new())
    };
    runtime().block_on(page.read(at(&set, 0), make)).unwrap();
    assert_ne!(told.recv().unwrap(), serving);
}

#[test]
fn a_page_of_other_policies_is_another_page() {
    let (page, before, after) = (Arc::new(SharedPage::default()), set(), set());
    runtime().block_on(async {
        assert_eq!(page.read(at(&before, 0), text("before")).await.unwrap(), "before");
        assert_eq!(page.read(at(&after, 0), text("after")).await.unwrap(), "after");
        assert_eq!(page.read(at(&after, 0), never()).await.unwrap(), "after");
    });
}

#[test]
fn t12_while_a_page_is_made_others_are_given_the_one_before() {
    let (page, set) = (Arc::new(SharedPage::default()), set());
    runtime().block_on(async {
        page.read(at(&set, 0), text("old")).await.unwrap();
        let turn = page.turn().unwrap();
        assert_eq!(page.read(at(&set, 5_000), never()).await.unwrap(), "old");
        drop(turn);
        assert_eq!(page.read(at(&set, 5_000), text("new")).await.unwrap(), "new");
    });
}

#[test]
fn who_finds_none_waits_for_the_one_that_is_made_and_not_for_ever() {
    let (page, set, reloaded) = (Arc::new(SharedPage::default()), set(), set());
    runtime().block_on(async {
        let turn = page.turn().unwrap();
        let waiting = page.read(at(&set, 0), never());
        let making = async { turn.make(NOW, Arc::downgrade(&set), text("made")) };
        let (waited, made) = tokio::join!(waiting, making);
        assert_eq!((waited.unwrap(), made.unwrap()), (Bytes::from("made"), Bytes::from("made")));
        let _turn = page.turn().unwrap();
        let impatient = WantedPage { patience: Duration::from_millis(5), ..at(&reloaded, 0) };
        let refused = page.read(impatient, never()).await;
        assert_eq!(refused, Err(NoPage::Busy), "an old page is no page after a reload");
    });
}

#[test]
fn a_turn_that_made_nothing_ends_and_the_next_in_line_takes_it() {
    let (page, set) = (Arc::new(SharedPage::default()), set());
    runtime().block_on(async {
        assert_eq!(page.read(at(&set, 0), || None).await, Err(NoPage::Failed));
        assert_eq!(page.read(at(&set, 0), || panic!("on purpose")).await, Err(NoPage::Failed));
        let turn = page.turn().unwrap();
        let waiting = page.read(at(&set, 0), text("by the next"));
        let (waited, ()) = tokio::join!(waiting, async { drop(turn) });
        assert_eq!(waited.unwrap(), "by the next");
    });
}

#[test]
fn t12_of_many_at_once_one_makes_it() {
    let (page, set, made) = (Arc::new(SharedPage::default()), set(), Arc::new(AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let made = Arc::clone(&made);
                let make = move || {
                    made.fetch_add(1, Ordering::Relaxed);
                    Some(Bytes::from_static(b"page"))
                };
                let read = async { page.read(at(&set, 0), make).await };
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                assert_eq!(runtime.unwrap().block_on(read).unwrap(), "page");
            });
        }
    });
    assert_eq!(made.load(Ordering::Relaxed), 1);
}
