use super::*;
use crate::authority::Beginning;

#[test]
fn a_server_s_mode_is_only_ever_stricter_than_the_session_s() {
    let authority = Authority::new(Beginning::default());
    use Mode::{AcceptEdits, Auto, BypassPermissions as Bypass, Default as Ask, DontAsk, Plan};
    for (said, now, want) in [
        (Ask, Bypass, Ask),
        (Auto, Bypass, Auto),
        (Ask, Auto, Ask),
        (Auto, Auto, Auto),
        (Bypass, Auto, Auto),
        (Auto, Ask, Ask),
        (Ask, AcceptEdits, AcceptEdits),
        (Ask, Plan, Plan),
        (Ask, DontAsk, DontAsk),
    ] {
        authority.set_server_mode("my.server", Some(said));
        assert_eq!(authority.mode_for("mcp__my_server__tool", now), want, "{said:?} over {now:?}");
        for other in ["mcp__my_server2__tool", "mcp__my_server", "Bash", "my_server__tool"] {
            assert_eq!(authority.mode_for(other, now), now, "{other}");
        }
    }
    authority.set_server_mode("my.server", None);
    assert_eq!(authority.mode_for("mcp__my_server__tool", Bypass), Bypass);
}

#[test]
fn rules_of_the_host_speak_of_one_tool_and_are_replaced_as_a_whole() {
    let words = |authority: &Authority, tool: &str| -> Vec<&'static str> {
        authority.tool_rules(tool).iter().map(|rule| rule.behavior.word()).collect()
    };
    for (managed_only, allowed) in [(false, &["allow"][..]), (true, &[])] {
        let authority = Authority::new(Beginning { managed_only, ..Beginning::default() });
        let rules =
            [("mcp__s__a", Behavior::Ask), ("mcp__s__b", Behavior::Deny), ("mcp__s__c", Behavior::Allow)];
        authority.set_tool_rules("s", &rules.map(|(tool, behavior)| (tool.into(), behavior)));
        assert_eq!(words(&authority, "mcp__s__a"), ["ask"]);
        assert_eq!(words(&authority, "mcp__s__b"), ["deny"]);
        assert_eq!(
            words(&authority, "mcp__s__c"),
            allowed,
            "only the administrator allows where that is said"
        );
        assert!(words(&authority, "mcp__s__d").is_empty() && words(&authority, "mcp__t__a").is_empty());
        authority.set_tool_rules("s", &[]);
        assert!(words(&authority, "mcp__s__a").is_empty());
    }
}
