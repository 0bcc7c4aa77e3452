use super::*;

#[test]
fn credentials_of_providers_are_told_from_the_rest() {
    let secret = "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS CLAUDE_CODE_OAUTH_TOKEN OPENAI_API_KEY \
         AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN AWS_PROFILE AWS_BEARER_TOKEN_BEDROCK \
         AZURE_CLIENT_SECRET GOOGLE_APPLICATION_CREDENTIALS GEMINI_API_KEY openrouter_api_key";
    let plain = "PATH HOME GITHUB_TOKEN NPM_TOKEN ANTHROPIC_BASE_URL ANTHROPIC_MODEL AWS_REGION OPENAI_BASE_URL KEYBOARD \
         CLAUDE_CODE_MAX_OUTPUT_TOKENS CLAUDE_CODE_ENTRYPOINT SSH_AUTH_SOCK";
    let all = secret.split_whitespace().chain(plain.split_whitespace());
    let names = |env: Env| env.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    let env = |switch: Option<&str>| {
        Env::new(all.clone().map(|name| (name, "x")).chain(switch.map(|value| (SCRUB, value))))
    };
    let mut left: Vec<&str> = plain.split_whitespace().collect();
    left.sort_unstable();
    assert_eq!(names(env(None).for_programs(true)), left);
    for (switch, default, is_scrubbed) in
        [(None, false, false), (Some("1"), false, true), (Some("0"), true, false), (Some("true"), true, true)]
    {
        let kept = names(env(switch).for_programs(default)).contains(&"OPENAI_API_KEY".to_owned());
        assert_eq!(kept, !is_scrubbed, "{switch:?} {default}");
    }
}
