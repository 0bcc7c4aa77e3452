use super::*;

#[test]
fn a_path_comes_out_of_json_with_its_backslashes() {
    let json = r#"{"packages":[],"target_directory":"C:\\work\\target","version":1}"#;
    assert_eq!(json_string(json, "target_directory").as_deref(), Some(r"C:\work\target"));
    assert_eq!(json_string(json, "elsewhere"), None);
    assert_eq!(json_string(r#"{"target_directory":"/cut o"#, "target_directory"), None);
}

#[test]
fn a_failing_step_does_not_stop_the_next_and_is_not_forgotten() {
    let mut shell = Shell::at_project_root();
    assert!(!shell.timed("first", "fails", || Err("as planned".to_owned())));
    assert!(shell.timed("second", "works", || Ok(())));
    assert_eq!(shell.steps.len(), 2);
    assert!(!shell.summarise());
}

#[test]
fn a_program_that_is_not_there_is_a_failed_step() {
    let mut shell = Shell::at_project_root();
    let mut command = shell.command("posse-no-such-program");
    assert!(!shell.works(&mut command));
    assert!(!shell.step("missing", &mut command));
}
