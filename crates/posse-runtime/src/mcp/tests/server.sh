# A server of tools for tests, in as little shell as possible. $1 says how it behaves; what it is told and how often it
# was started is written into the folder it runs in.
mode=$1
echo $$ >> started
: "${LIST:=tools.json}"
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
text() { answer "$1" "{\"content\":[{\"type\":\"text\",\"text\":\"$2\"}]}"; }

case $mode in
dies) echo 'no database: connection refused' >&2; exit 3 ;;
silent) while read -r _; do :; done; exit ;;
endless) while :; do printf '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'; done ;;
noisy) say 'Server is starting...'; say '{"jsonrpc": "2.0", "id": 7'; say '[]'; say '{"hello": 1}'; say '' ;;
refuses) while read -r _; do say '{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"not today"}}'; done ;;
esac

calls=0
waiting=
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        if [ "$mode" = modern ]; then
            say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"
            continue
        fi
        answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        case $mode in
        pages) answer "$id" '{"tools":[{"name":"p'"$id"'","inputSchema":{"type":"object"}}],"nextCursor":"more"}' ;;
        *) answer "$id" "{\"tools\":$(cat "$LIST")}" ;;
        esac ;;
    *'"method":"server/discover"'*)
        answer "$id" '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"notifications/cancelled"'*)
        echo "$line" >> cancelled
        if [ -n "$waiting" ]; then text "$waiting" "was cancelled"; waiting=; fi ;;
    *'"method":"tools/call"'*)
        calls=$((calls + 1))
        case $line in
        *'"name":"crash"'*) echo 'segmentation fault (really)' >&2; exit 11 ;;
        *'"name":"hang"'*) ;;
        *'"name":"cancelled"'*) if [ -e cancelled ]; then text "$id" "was cancelled"; else waiting=$id; fi ;;
        *'"name":"flood"'*) while :; do printf '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'; done ;;
        *'"name":"fails"'*) answer "$id" '{"content":[{"type":"text","text":"it broke"}],"isError":true}' ;;
        *'"name":"garbage"'*) answer "$id" '{"content":[{"type":"text","text":"before"},{"type":"hologram"},{"type":"text","text":"after"}]}' ;;
        *'"name":"rubbish"'*) answer "$id" '{"content":"text"}' ;;
        *'"name":"relist"'*)
            echo '[{"name":"fresh","inputSchema":{"type":"object"}}]' > tools.json
            say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            text "$id" "another list" ;;
        *'"name":"asks"'*)
            case $line in
            *'"requestState":"once"'*'Ada'*|*'Ada'*'"requestState":"once"'*) text "$id" "hello Ada" ;;
            *'"requestState":"once"'*) text "$id" "hello nobody" ;;
            *) answer "$id" '{"resultType":"input_required","requestState":"once","inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}}' ;;
            esac ;;
        *'"name":"insists"'*) answer "$id" '{"resultType":"input_required","requestState":"more"}' ;;
        *'"name":"environment"'*) text "$id" "$SECRET in $(pwd) at $HOME" ;;
        *) text "$id" "call $calls" ;;
        esac ;;
    *'"method":"ping"'*) answer "$id" '{}' ;;
    esac
done
