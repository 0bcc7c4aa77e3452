use std::rc::Rc;

use htmd::HtmlToMarkdown;

use super::{markdown, tame};

fn convert(html: &str) -> String {
    markdown(html.to_owned()).unwrap()
}

#[test]
fn html_as_markdown() {
    for (html, want) in [
        ("<h2>A</h2><ul><li>b<li>c</ul>", "## A\n\n*   b\n*   c"),
        ("<pre><code class=\"language-rust\">let x;\n</code></pre>", "```rust\nlet x;\n```"),
        ("a <i class=x>b</i> <font color=red>c</font> <b-x y>d</b-x>", "a *b* c d"),
        (
            "<p>a<script>evil('<p>')</script><style>p{}</style><svg><text>b</text></svg></p><noscript>c</noscript>",
            "a",
        ),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| - | - |\n| 1 | 2 |"),
        ("<p>1 < 2 && 3 > 2</p>", "1 < 2 && 3 > 2"),
        ("<!-- <p>no</p> --><p>yes<!-->, <b>really</b>", "yes, **really**"),
        ("<title>a <b> c</title><p>d", "a \\<b> c\n\nd"),
        ("<b unclosed", ""),
        ("", ""),
    ] {
        assert_eq!(convert(html), want, "{html}");
    }
}

/// The converter recurses, and the parser looks through all that is open: without a limit these would end the program,
/// or not end at all.
#[test]
fn a_page_as_deep_as_a_well() {
    for tag in [
        "<div>",
        "<span>",
        "<blockquote>",
        "<ul><li>",
        "<b>",
        "<table><tr><td>",
        "<custom-tag>",
        "<svg><g>",
        "<math><mi>",
        "<option><span>",
        "<a href=x>",
        // Looks closed, and is not.
        "<div><table><tr><td></div></table>",
        "<span><div></span>",
        "<b><div></b>",
        "<div><object></div></object>",
        "<svg><desc><div></svg>",
        "<div/>",
        "<math><input>",
        "<template><div></template>",
        "<select><div></select>",
    ] {
        let html = format!("<p>top</p>{}bottom", tag.repeat(5_000));
        let (depth, _) = measure(&html);
        // A table brings three more of its own.
        assert!(depth < 850, "{tag}: {depth} deep");
        assert!(convert(&html).starts_with("top"), "{tag}");
    }
    let text = convert(&format!("top{}bottom", "<div>".repeat(5_000)));
    assert_eq!(text, "top\n\nbottom", "what is too deep loses its tags, not its text");
    let text = convert(&format!("top{}bottom", "<table><tr><td>".repeat(5_000)));
    assert_eq!(text, "top\n\n[Parts of the page are left out: it is too large or too deeply nested]");
}

/// Unclosed elements that differ are opened again in every paragraph: of 1,000 of each there would be half a million.
#[test]
fn a_page_that_grows_while_it_is_read() {
    for tag in ["b", "i", "code", "font", "u", "a"] {
        let html: String = (0..1_000).map(|n| format!("<p><{tag} id={n}>x</p>")).collect();
        let (_, nodes) = measure(&html);
        assert!(nodes < 50_000, "{tag}: {nodes} nodes");
    }
}

/// How deep the tree of a page is, and how many nodes it has.
fn measure(html: &str) -> (usize, usize) {
    let tree = HtmlToMarkdown::new().html_to_tree(&tame(html).0).unwrap();
    let (mut deepest, mut nodes) = (0, 0);
    // The tree is held until the end: a node that goes takes everything below it along, whoever else holds that.
    let mut open = vec![(Rc::clone(&tree), 0)];
    while let Some((node, depth)) = open.pop() {
        nodes += 1;
        deepest = deepest.max(depth);
        open.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    (deepest, nodes)
}
