use std::path::Path;

use super::*;

fn file(layer: Layer, name: &str, text: &str) -> SettingsFile {
    SettingsFile::read(layer, Path::new(name).into(), text).0
}

#[test]
fn a_file_counts_as_it_was_until_it_is_let_through() {
    let known = [file(Layer::User, "u", "{}"), file(Layer::Local, "l", "{}"), file(Layer::Flag, "f", "{}")];
    let changed = [
        file(Layer::User, "u", r#"{"model": "a"}"#),
        file(Layer::Project, "p", r#"{"model": "b"}"#),
        file(Layer::Flag, "f", r#"{"model": "c"}"#),
    ];
    let broken = [file(Layer::User, "u", "{"), file(Layer::Local, "l", "{}")];
    let table: [(&[SettingsFile], &str, &str); 6] = [
        (&changed, "", r#"u {}, l {}, f {"model": "c"}"#),
        (&changed, "u", r#"u {"model": "a"}, l {}, f {"model": "c"}"#),
        (&changed, "p", r#"u {}, l {}, p {"model": "b"}, f {"model": "c"}"#),
        (&changed, "l", r#"u {}, f {"model": "c"}"#),
        // What cannot be understood is no absence of limits; what a flag said and says no more is.
        (&broken, "u", "u {}, l {}"),
        (&[], "u", "l {}"),
    ];
    for (fresh, let_through, want) in table {
        let mut files = counting(&known, fresh, |path| path == Path::new(let_through));
        files.sort_by_key(|file| file.file.as_os_str() != "u");
        let shown: Vec<String> =
            files.iter().map(|file| format!("{} {}", file.file.display(), file.text)).collect();
        let mut want: Vec<&str> = want.split(", ").collect();
        want.sort_unstable();
        let mut shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        shown.sort_unstable();
        assert_eq!(shown, want, "{let_through}");
    }
}
