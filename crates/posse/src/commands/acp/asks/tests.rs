use posse_runtime::ask::Choice;

use super::*;

fn rule() -> Suggestion {
    let update = json!({
        "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "ls:*" }], "behavior": "allow",
        "destination": "localSettings",
    });
    Suggestion { label: "allow Bash(ls:*)".to_owned(), update }
}

fn mode() -> Suggestion {
    let update = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    Suggestion { label: "switch to acceptEdits".to_owned(), update }
}

fn option(id: &str) -> Chosen {
    Chosen::Option(id.to_owned())
}

#[test]
fn what_is_offered() {
    let names = |tool: &str, suggestions: &[Suggestion]| -> Vec<String> {
        let offers = offers(tool, suggestions);
        offers.iter().map(|(one, _)| format!("{} {:?}: {}", one.id, one.meaning, one.name)).collect()
    };
    assert_eq!(
        names("Bash", &[rule()]),
        [
            "allow Once: Allow",
            "session-0 Always: Always allow Bash(ls:*) in this session",
            "project-0 Always: Always allow Bash(ls:*) in this project",
            "reject Reject: Reject",
            "never Never: Always reject Bash(ls:*) in this session",
        ]
    );
    assert_eq!(names("Bash", &[]), ["allow Once: Allow", "reject Reject: Reject"]);
    assert_eq!(
        names("Write", &[mode()]),
        [
            "allow Once: Allow",
            "session-0 Always: Allow, and switch to acceptEdits in this session",
            "reject Reject: Reject",
            "never Never: Always reject Write in this session",
        ]
    );
}

#[test]
fn what_answers_to_a_question_for_permission_do() {
    let destination = |answer: PermissionAnswer| match answer {
        PermissionAnswer::Allow { updates, .. } => {
            let all = updates.iter().map(|update| update["destination"].to_string());
            format!("allow {}", all.collect::<String>())
        }
        PermissionAnswer::Deny { interrupt, .. } => format!("deny {interrupt}"),
        PermissionAnswer::Nobody => "nobody".to_owned(),
    };
    let cases = [
        (option("allow"), "allow ", false),
        (option("session-0"), "allow \"session\"", false),
        (option("project-0"), "allow \"localSettings\"", false),
        (option("reject"), "deny false", false),
        (option("never"), "deny false", true),
        (option("else"), "deny false", false),
        (Chosen::Cancelled, "deny true", false),
        (Chosen::Nobody, "nobody", false),
    ];
    for (chosen, expected, has_rule) in cases {
        let (answer, deny) = permission_answer(chosen.clone(), offers("Bash", &[rule()]));
        assert_eq!((destination(answer).as_str(), deny.is_some()), (expected, has_rule), "{chosen:?}");
    }
}

#[test]
fn plans_are_approved_with_a_mode() {
    assert_eq!(plan_modes(Mode::Default, false), [Mode::Default, Mode::AcceptEdits]);
    assert_eq!(
        plan_modes(Mode::AcceptEdits, true),
        [Mode::AcceptEdits, Mode::BypassPermissions],
        "none is offered twice"
    );
    let options = plan_options(&plan_modes(Mode::Default, false));
    let meanings: Vec<Meaning> = options.iter().map(|one| one.meaning).collect();
    assert_eq!(meanings, [Meaning::Once, Meaning::Always, Meaning::Reject]);
    let update = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    let yes = PermissionAnswer::Allow { updated_input: None, updates: vec![update] };
    assert_eq!(plan_answer(option("acceptEdits"), &[Mode::AcceptEdits]), yes);
    let no = PermissionAnswer::Deny { message: NOT_YET.to_owned(), interrupt: false };
    assert_eq!(plan_answer(option("reject"), &[Mode::AcceptEdits]), no);
    assert_eq!(plan_answer(Chosen::Cancelled, &[]), stopped());
    assert_eq!(plan_answer(Chosen::Nobody, &[]), PermissionAnswer::Nobody);
}

fn question(text: &str, multi_select: bool) -> Question {
    let choice = |label: &str, about: &str| Choice { label: label.to_owned(), description: about.to_owned() };
    Question {
        question: text.to_owned(),
        header: "H".to_owned(),
        options: vec![choice("A", "first"), choice("B", "")],
        multi_select,
    }
}

#[test]
fn a_question_is_answered_by_choosing() {
    let asked = question("Which?", false);
    let choosing = question_options(&asked, Call::default());
    let names: Vec<&str> = choosing.options.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["A: first", "B", "Skip this question"]);
    let declined = |why: &str| Err(QuestionAnswer::Declined(why.to_owned()));
    let cases = [
        (option("choice-1"), Ok("B".to_owned())),
        (option("choice-7"), declined("they skipped the question")),
        (option("reject"), declined("they skipped the question")),
        (Chosen::Cancelled, declined("they stopped the turn")),
        (Chosen::Nobody, Err(QuestionAnswer::Nobody)),
    ];
    for (chosen, expected) in cases {
        assert_eq!(question_answer(&asked, chosen), expected);
    }
}

#[test]
fn a_form_is_read_back() {
    let questions = [question("One?", false), question("Many?", true)];
    let ids: Vec<String> = form(&questions, "c").fields.into_iter().map(|field| field.id).collect();
    assert_eq!(ids, ["question-0", "question-0-other", "question-1", "question-1-other"]);
    let filled = |fields: &[(&str, &[&str])]| {
        let field = |(id, texts): &(&str, &[&str])| {
            ((*id).to_owned(), texts.iter().map(|text| (*text).to_owned()).collect())
        };
        form_answer(&questions, Filled::In(fields.iter().map(field).collect()))
    };
    let answered = |answers: &[(&str, &str)]| {
        let one = |(question, answer): &(&str, &str)| ((*question).to_owned(), (*answer).to_owned());
        QuestionAnswer::Answered(answers.iter().map(one).collect())
    };
    assert_eq!(filled(&[("question-0", &["A"])]), answered(&[("One?", "A")]));
    assert_eq!(
        filled(&[
            ("question-0", &["A"]),
            ("question-0-other", &["mine"]),
            ("question-1", &["A", "B"]),
            ("question-1-other", &["C"]),
        ]),
        answered(&[("One?", "mine"), ("Many?", "A, B, C")])
    );
    let nothing = QuestionAnswer::Declined("they chose nothing".to_owned());
    assert_eq!(filled(&[("question-0", &[" "]), ("unknown", &["x"])]), nothing);
    assert!(matches!(form_answer(&questions, Filled::Declined), QuestionAnswer::Declined(_)));
    assert!(matches!(form_answer(&questions, Filled::Cancelled), QuestionAnswer::Declined(_)));
    assert_eq!(form_answer(&questions, Filled::Nobody), QuestionAnswer::Nobody);
}
