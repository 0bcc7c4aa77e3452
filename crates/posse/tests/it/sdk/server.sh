# A server of tools for tests of hosts: it tells of progress, asks questions, has a page to show and gives permissions.
echo $$ >> started
case $1 in
dies) exit 3 ;;
mute) while read -r _; do :; done; exit ;;
esac
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
text() { answer "$1" "{\"content\":[{\"type\":\"text\",\"text\":\"$2\"}]}"; }
tool() { printf '{"name":"%s","inputSchema":{"type":"object"}%s}' "$1" "$2"; }

while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        reads=',"description":"Looks.","annotations":{"readOnlyHint":true}'
        answer "$id" "{\"tools\":[$(tool look "$reads"),$(tool hang),$(tool ask),$(tool fails),$(tool permit),$(tool odd.name)]}" ;;
    *'"method":"resources/read"'*'ui://page'*)
        answer "$id" '{"contents":[{"uri":"ui://page","mimeType":"text/html","text":"<p>hello</p>","_meta":{"ui":{"csp":{}}}}]}' ;;
    *'"method":"tools/call"'*'"name":"permit"'* | *'"name":"permit"'*'"method":"tools/call"'*)
        echo "$line" >> asked
        case $line in
        *forbidden*) text "$id" '{\"behavior\":\"deny\",\"message\":\"the tool says no\"}' ;;
        *) text "$id" '{\"behavior\":\"allow\"}' ;;
        esac ;;
    *'"name":"hang"'*)
        token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\("[^"]*"\|[0-9]*\).*/\1/p')
        say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1,\"total\":3,\"message\":\"halfway\"}}" ;;
    *'"name":"ask"'*)
        call=$id
        say '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}' ;;
    *'"id":"q1"'*)
        case $line in
        *Ada*) text "$call" "hello Ada" ;;
        *decline*) text "$call" "declined" ;;
        *) text "$call" "something else" ;;
        esac ;;
    *'"name":"fails"'*) answer "$id" '{"content":[{"type":"text","text":"it broke"}],"isError":true}' ;;
    *'"method":"tools/call"'*) text "$id" "here" ;;
    esac
done
