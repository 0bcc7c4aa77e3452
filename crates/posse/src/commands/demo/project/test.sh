#!/bin/sh
# Runs every case; fails if one does.
failed=0
check() {
    got=$(printf "$1" | sh receipt.sh)
    if [ "$got" = "$2" ]; then
        echo "ok    $3"
    else
        echo "FAIL  $3: wanted $2, got $got"
        failed=1
    fi
}

check '1 350 coffee\n' 3.50 'one line'
check '2 350 coffee\n1 990 tea\n' 16.90 'several lines'
check '1 12000 machine\n' 108.00 'a large order gets ten per cent off'
check '1 10000 grinder\n' 90.00 'an order of exactly 100.00 does too'
exit $failed
