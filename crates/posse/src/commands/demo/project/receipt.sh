#!/bin/sh
# Reads "quantity price name" lines, prints the total in units and cents.
total=0
while read -r quantity price name; do
    total=$((total + quantity * price))
done

# Orders of 100.00 or more get ten per cent off.
if [ "$total" -gt 10000 ]; then
    total=$((total - total / 10))
fi

printf '%d.%02d\n' $((total / 100)) $((total % 100))
