use super::{MAX_OPEN, MAX_TAGS};

fn tame(html: &str) -> String {
    super::tame(html).0
}

#[test]
fn what_is_left_of_a_page() {
    for (html, want) in [
        ("<!DOCTYPE html><p class=x>a</p>", "<!doctype html><p class=x>a</p>"),
        ("<B ID=1>a</B>", "<b>a</b>"),
        ("<font color=red>a</font><u>b</u>", "ab"),
        ("a<script>if (a</b) '</div>'</SCRIPT >b", "ab"),
        ("a<style>unclosed", "a"),
        ("a<!-- b --><!-->c<!-- d", "ac"),
        ("<?xml x?>a<![CDATA[b]]>c", "ac"),
        ("1 < 2 <3 </ >", "1 &lt; 2 &lt;3 &lt;/ >"),
        ("<a href=\"x>y\">z</a>", "<a href=\"x>y\">z</a>"),
        ("<bold x>a</bold>", "<bold x>a</bold>"),
        ("a<div", "a"),
        ("ä<p>ö</p>ü", "ä<p>ö</p>ü"),
    ] {
        assert_eq!(tame(html), want, "{html}");
    }
}

#[test]
fn a_page_is_cut_after_too_many_tags() {
    let (tamed, cut_off) = super::tame(&format!("{}end", "<br>x".repeat(MAX_TAGS + 10)));
    assert!(cut_off);
    assert!(!super::tame(&"<br>x".repeat(MAX_TAGS)).1);
    assert_eq!(tamed.matches("<br>x").count(), MAX_TAGS);
    assert!(!tamed.contains("end"));
}

#[test]
fn elements_that_are_closed_do_not_count() {
    let html = "<div><p>a<span>b</span><li>c<br></div><table><tr><td><div>x</div><td>y</table>".repeat(500);
    assert_eq!(tame(&html), html);
    let unclosed = "<div>".repeat(MAX_OPEN + 7);
    assert_eq!(tame(&unclosed), "<div>".repeat(MAX_OPEN));
    // Inside of a table nothing outside is closed, so every one of these stays open until there are too many.
    assert_eq!(
        tame(&"<div><table></div></table>".repeat(MAX_OPEN + 7)).matches("<table>").count(),
        MAX_OPEN - 1
    );
}

#[test]
fn attributes_of_code_are_kept_while_there_are_few() {
    let html: String = (0..20).map(|n| format!("<code class=l{n}>{n}</code>")).collect();
    let tamed = tame(&html);
    assert_eq!(tamed.matches("class").count(), 8);
    assert!(tamed.starts_with("<code class=l0>0</code>") && tamed.ends_with("<code>19</code>"), "{tamed}");
}
