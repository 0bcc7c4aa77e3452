use super::*;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for folder in ["project/.claude", "project/out", "home/.claude/data", "home/.ssh", "scratch"] {
            std::fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        Self { dir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn by(&self, layer: Layer) -> SetIn {
        let file = match layer {
            Layer::User => self.at("home/.claude/settings.json"),
            _ => self.at("project/.claude/settings.json"),
        };
        SetIn { file: file.into(), layer }
    }

    fn asked(&self, settings: &SandboxSettings, reader: bool) -> (Profile, Vec<String>) {
        let mut notes = Vec::new();
        let (roots, cwd, home, scratch) =
            ([self.at("project")], self.at("project"), self.at("home"), self.at("scratch"));
        let ground = Ground { roots: &roots, cwd: &cwd, home: Some(&home), scratch: &scratch };
        let profile = profile(settings, reader, ground, &mut notes);
        (profile, notes)
    }

    fn settings(&self) -> SandboxSettings {
        let by = self.by(Layer::User);
        SandboxSettings { enabled: Some(Set { value: true, by }), ..SandboxSettings::default() }
    }
}

#[test]
fn paths_start_where_their_file_belongs() {
    let place = Place::new();
    let absolute = place.at("home/.ssh").display().to_string();
    let cases = [
        (Layer::Project, "out".to_owned(), "project/out"),
        (Layer::Project, "./out".to_owned(), "project/out"),
        (Layer::Project, ".".to_owned(), "project"),
        (Layer::User, "data".to_owned(), "home/.claude/data"),
        (Layer::User, "~/.ssh".to_owned(), "home/.ssh"),
        (Layer::User, "~".to_owned(), "home"),
        (Layer::User, absolute.clone(), "home/.ssh"),
        (Layer::Project, format!("/{absolute}"), "home/.ssh"),
    ];
    for (layer, text, expected) in cases {
        let entry = (text.clone().into_boxed_str(), place.by(layer));
        let settings = SandboxSettings { allow_write: vec![entry], ..place.settings() };
        let (profile, notes) = place.asked(&settings, false);
        assert_eq!(profile.writable[1..], [place.at(expected)], "{text}");
        assert_eq!(notes, [""; 0], "{text}");
    }
}

#[test]
fn what_cannot_be_had_is_said() {
    let place = Place::new();
    let entry = |text: &str| vec![(text.into(), place.by(Layer::Project))];
    let on = || Some(Set { value: true, by: place.by(Layer::User) });
    let cases = [
        (SandboxSettings { allow_write: entry("gone"), ..place.settings() }, "allowWrite: "),
        (SandboxSettings { deny_write: entry("gone"), ..place.settings() }, "denyWrite: "),
        (SandboxSettings { deny_read: entry("gone/**"), ..place.settings() }, "taken to the letter"),
        (
            SandboxSettings { deny_read: entry("out"), allow_read: entry("out/x"), ..place.settings() },
            "allowRead: ",
        ),
        (SandboxSettings { allow_unix_sockets: vec!["/s".into()], ..place.settings() }, "allowUnixSockets: "),
        (SandboxSettings { allow_local_binding: on(), ..place.settings() }, "allowLocalBinding: "),
        (
            SandboxSettings { allowed_domains: vec!["https://a.org/".into()], ..place.settings() },
            "`https://a.org/` is not a host",
        ),
    ];
    for (settings, part) in cases {
        let (_, notes) = place.asked(&settings, false);
        assert!(matches!(&notes[..], [note] if note.contains(part)), "{part}: {notes:?}");
        let off = SandboxSettings { enabled: None, ..settings };
        assert_eq!(place.asked(&off, true).1, [""; 0]);
    }
}

#[test]
fn readers_gain_nothing_by_settings_and_have_no_way_out() {
    let place = Place::new();
    let settings = SandboxSettings {
        allow_write: vec![("out".into(), place.by(Layer::Project))],
        deny_read: vec![("out".into(), place.by(Layer::Project))],
        excluded_commands: vec!["docker".into()],
        ..place.settings()
    };
    let (profile, notes) = place.asked(&settings, true);
    assert!(profile.is_read_only() && profile.unreadable == [place.at("project/out")], "{profile:?}");
    assert_eq!((profile.network, notes), (Network::Closed, Vec::new()));
    assert_eq!(exits(&settings, true), Exits::default());
    assert_eq!(exits(&settings, false), Exits::new(["docker"], true));
}
