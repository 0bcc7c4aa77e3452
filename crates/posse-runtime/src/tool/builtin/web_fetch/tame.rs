//! HTML cut to a size that is safe to parse.
//!
//! The rules of HTML let a small page describe an enormous tree: elements that are never closed nest without end, and
//! an unclosed `<b id=1>` is opened again in every paragraph that follows, as is every other with another id, so that n
//! tags make n² elements. This goes over the tags before the parser does and leaves out those that would let it get out
//! of hand. Text stays; only what is never shown is dropped with its content.
//!
//! A tag ends here at the first `>`, for the parser never earlier, so the parser never sees a tag that was not counted.

/// Tags after which a page is cut off. A page of 100,000 characters has far fewer.
pub(super) const MAX_TAGS: usize = 100_000;
/// Elements within elements; those inside are dropped, their text stays. Pages written by people do not reach 100.
const MAX_OPEN: usize = 200;
/// Different lists of attributes that `code` may have: they name the language.
const MAX_CODE_ATTRIBUTES: usize = 8;

/// How a tag is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Dropped with everything up to its end: it is not text, or has rules of its own.
    Whole,
    /// Dropped, its content stays: it means nothing in Markdown, and has rules that are worth avoiding.
    Tag,
    /// Opened again by the parser wherever it was left open. Loses its attributes: without them the parser keeps three.
    Formatting,
    /// Has no content.
    Void,
    /// Closed by its next sibling, so it cannot nest without something else around it.
    SelfLimiting,
    /// What it contains cannot close anything outside of it.
    Boundary,
    /// Closes what is open in it; what is not special cannot be closed through it.
    Special,
    /// Everything else.
    Ordinary,
}

impl Class {
    fn of(name: &str) -> Self {
        match name {
            "script" | "style" | "noscript" | "template" | "svg" | "iframe" | "noembed" | "noframes"
            | "textarea" => Self::Whole,
            "big" | "font" | "nobr" | "s" | "small" | "strike" | "tt" | "u" | "object" | "applet"
            | "marquee" | "math" | "plaintext" | "xmp" | "listing" | "frameset" | "frame" => Self::Tag,
            "b" | "strong" | "i" | "em" | "code" => Self::Formatting,
            "area" | "base" | "basefont" | "bgsound" | "br" | "col" | "embed" | "hr" | "img" | "input"
            | "keygen" | "link" | "meta" | "param" | "source" | "track" | "wbr" => Self::Void,
            "html" | "head" | "body" | "p" | "li" | "dd" | "dt" | "colgroup" | "tbody" | "thead"
            | "tfoot" | "tr" | "td" | "th" => Self::SelfLimiting,
            "table" => Self::Boundary,
            "address" | "article" | "aside" | "blockquote" | "button" | "caption" | "center" | "details"
            | "dir" | "div" | "dl" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "h1"
            | "h2" | "h3" | "h4" | "h5" | "h6" | "header" | "hgroup" | "main" | "menu" | "nav" | "ol"
            | "pre" | "search" | "section" | "select" | "summary" | "title" | "ul" => Self::Special,
            _ => Self::Ordinary,
        }
    }
}

/// The page with everything in it that is safe to parse, and whether it was cut off.
pub(super) fn tame(html: &str) -> (String, bool) {
    let mut tamer =
        Tamer { out: String::with_capacity(html.len()), open: Vec::new(), code_attributes: Vec::new() };
    let mut rest = html;
    for _ in 0..MAX_TAGS {
        let Some(at) = rest.find('<') else { break };
        tamer.out.push_str(&rest[..at]);
        rest = tamer.tag(&rest[at..]);
    }
    let end = rest.find('<');
    tamer.out.push_str(&rest[..end.unwrap_or(rest.len())]);
    (tamer.out, end.is_some())
}

struct Tamer<'a> {
    out: String,
    /// What the parser may have open, at least.
    open: Vec<(String, Class)>,
    code_attributes: Vec<&'a str>,
}

impl<'a> Tamer<'a> {
    /// Deals with a `<` and what belongs to it, and returns the rest.
    fn tag(&mut self, text: &'a str) -> &'a str {
        let after = &text[1..];
        if after.starts_with("!--") {
            return text[2..].find("-->").map_or("", |end| &text[2 + end + 3..]);
        }
        let closing = after.starts_with('/');
        let name_at = 1 + usize::from(closing);
        let begins = |c: char| c.is_ascii_alphabetic() || (!closing && matches!(c, '!' | '?'));
        if !text[name_at..].starts_with(begins) {
            self.out.push_str("&lt;");
            return after;
        }
        // A tag without an end is not a tag, and neither is anything behind it.
        let Some(end) = text.find('>') else { return "" };
        let (tag, rest) = (&text[..end], &text[end + 1..]);
        let name_length =
            tag[name_at..].find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(end - name_at);
        let name = tag[name_at..name_at + name_length].to_ascii_lowercase();
        if closing {
            self.close(&name);
            return rest;
        }
        self.start(&name, tag, &tag[name_at + name_length..], rest)
    }

    fn start(&mut self, name: &str, tag: &str, attributes: &'a str, rest: &'a str) -> &'a str {
        let class = Class::of(name);
        match class {
            Class::Whole => return behind(name, rest).map_or("", |(_, rest)| rest),
            Class::Tag => return rest,
            Class::Void | Class::SelfLimiting => {}
            Class::Formatting | Class::Boundary | Class::Special | Class::Ordinary => {
                // A document type and the like; only the former does anything.
                if name.starts_with(['!', '?']) {
                    if name == "!doctype" {
                        self.out.push_str("<!doctype html>");
                    }
                    return rest;
                }
                if self.open.len() >= MAX_OPEN {
                    return rest;
                }
                self.open.push((name.to_owned(), class));
            }
        }
        if name == "title" {
            // Its content is text to the parser, whatever it looks like.
            let Some((title, rest)) = behind(name, rest) else { return "" };
            self.open.pop();
            self.out.push_str(&format!("<title>{}</title>", title.replace('<', "&lt;")));
            return rest;
        }
        if class == Class::Formatting {
            let few = self.code_attributes.len() < MAX_CODE_ATTRIBUTES;
            if name == "code" && few && !self.code_attributes.contains(&attributes) {
                self.code_attributes.push(attributes);
            }
            let kept = name == "code" && self.code_attributes.contains(&attributes);
            self.out.push_str(&format!("<{name}{}>", if kept { attributes } else { "" }));
        } else {
            self.out.push_str(tag);
            self.out.push('>');
        }
        rest
    }

    /// An end tag. It closes here only what it is sure to close for the parser.
    fn close(&mut self, name: &str) {
        let class = Class::of(name);
        if matches!(class, Class::Whole | Class::Tag) {
            return;
        }
        self.out.push_str(&format!("</{name}>"));
        let stops = |other: Class| match class {
            Class::Boundary => false,
            Class::Special => other == Class::Boundary,
            _ => matches!(other, Class::Boundary | Class::Special),
        };
        for at in (0..self.open.len()).rev() {
            let (open, class) = &self.open[at];
            if open == name {
                self.open.truncate(at);
                return;
            }
            if stops(*class) {
                return;
            }
        }
    }
}

/// The content of an element up to its end tag, and what follows that. `None` if there is no end.
fn behind<'a>(name: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let end_tag = |at: &usize| {
        let tag = &text.as_bytes()[at + 2..];
        tag.len() >= name.len() && tag[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    };
    let at = text.match_indices("</").map(|(at, _)| at).find(end_tag)?;
    let rest = text[at..].find('>').map_or("", |end| &text[at + end + 1..]);
    Some((&text[..at], rest))
}

#[cfg(test)]
mod tests;
