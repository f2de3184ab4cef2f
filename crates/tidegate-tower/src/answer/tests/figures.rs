//! Which decision a response tells of, and what is told of it.

use http::HeaderMap;

use super::scenes::Scene;
use super::{Figures, HeaderProfile, Profile, refused, written};
use crate::answer::RetryAfter;

fn figures(scene: Scene) -> Figures {
    scene.decided(|decision, _| Figures::of(decision, None))
}

#[test]
fn a_refusal_is_scarcer_than_what_was_admitted() {
    let refusals = Scene::ALL.into_iter().filter(|scene| scene.decided(|_, code| code.is_some()));
    for refused in refusals.map(figures) {
        for admitted in [Scene::Admitted, Scene::PassedDegraded, Scene::ShadowOnly].map(figures) {
            assert!(refused.is_scarcer_than(&admitted));
            assert!(!admitted.is_scarcer_than(&refused));
        }
    }
}

#[test]
fn of_two_that_admit_the_smaller_share_is_scarcer() {
    // 39 of 40, 4 of 5, 0 of 40, and nothing that is known.
    let in_order = [
        Scene::PassedDegraded,
        Scene::EntranceAdmitted,
        Scene::Admitted,
        Scene::GuardedAdmitted,
        Scene::ShadowOnly,
    ]
    .map(figures);
    for (place, scarcer) in in_order.iter().enumerate() {
        assert!(!scarcer.is_scarcer_than(scarcer), "{place}");
        for other in &in_order[place + 1..] {
            assert!(scarcer.is_scarcer_than(other), "{scarcer:?} than {other:?}");
            assert!(!other.is_scarcer_than(scarcer));
        }
    }
}

#[test]
fn fields_that_are_there_already_are_replaced_and_others_stay() {
    let mut headers = HeaderMap::new();
    for (name, value) in [("ratelimit-remaining", "7"), ("server", "tide")] {
        headers.append(name, value.parse().unwrap());
    }
    headers.append("ratelimit-remaining", "8".parse().unwrap());
    figures(Scene::Admitted).write(&Profile::default(), &mut headers);
    let remaining: Vec<_> = headers.get_all("ratelimit-remaining").iter().collect();
    assert_eq!(remaining, ["39"]);
    assert_eq!(headers["server"], "tide");
}

#[test]
fn a_wait_is_told_for_bursts_and_for_quotas_on_request_and_never_where_none_helps() {
    let told = |scene, retry_after| {
        let profile = Profile { retry_after, ..Profile::default() };
        let told = written(&profile, scene).get("retry-after").cloned();
        told.map(|value| value.to_str().unwrap().parse::<u64>().unwrap())
    };
    for scene in Scene::ALL {
        let (burst, always) = (told(scene, RetryAfter::Burst), told(scene, RetryAfter::Always));
        let is_refused = scene.decided(|_, code| code.is_some());
        assert_eq!(burst, if scene == Scene::RefusedByQuota { None } else { always }, "{scene:?}");
        assert_eq!(always.is_some(), is_refused && scene != Scene::NeverFits, "{scene:?}");
        assert_ne!(always, Some(0), "{scene:?}");
    }
}

#[test]
fn a_layer_around_a_refusal_finds_its_figures() {
    let profile = Profile::default();
    let mut response = refused(&profile, Scene::RefusedByBurst, false).unwrap();
    let within = response.extensions_mut().remove::<Figures>().unwrap();
    assert!(within.is_scarcer_than(&figures(Scene::Admitted)));
    let mut again = response.headers().clone();
    within.write(&profile, &mut again);
    assert_eq!(&again, response.headers(), "written twice, it says the same");
}

#[test]
fn nothing_is_invented_where_nobody_has_counted() {
    let headers = HeaderProfile::ALL.into_iter().collect();
    let all = Profile { headers, ..Profile::default() };
    let shadows = [Scene::ShadowOnly, Scene::EntranceShadow];
    for scene in shadows.into_iter().chain([Scene::Unavailable, Scene::EntranceUnavailable]) {
        let told = written(&all, scene);
        assert!(told.keys().all(|name| name == "retry-after"), "{scene:?}: {told:?}");
    }
}
