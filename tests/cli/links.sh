. "$SOURCE_ROOT/tests/lib.sh"

# Two H200s, imported from a trace: loads that counted their own payload.
# NVLink counts at most 3 % and PCIe at most 9 % above the payload.
recording=$SOURCE_ROOT/data/h200-x2-links.roof

# mean MARK GPU METRIC: bytes a second
mean() {
    "$ROOFTOP" diff --format json "$recording#$1" "$recording#$1" |
        sed 's/{"index"/\n&/g' | sed -n "/^{\"index\":$2,/s/.*\"$3\":{\"a\":{\"mean\":\([^,]*\),.*/\1/p"
}

# expect_payload MARK GPU METRIC GIGABYTES PERCENT
expect_payload() {
    mean "$1" "$2" "$3" >measured
    awk -v payload="$4" -v above="$5" '
        { part = $1 / (payload * 1e9); exit !(part >= 1 - above / 100 && part <= 1 + above / 100) }
        END { if (NR == 0) exit 1 }' measured
    result $? "$1: $3 of GPU $2 is within $5 % of $4 GB/s"
    sed 's/^/# /' measured
}

for gpu in 0 1; do
    expect_payload allreduce-1GiB $gpu nvlink_rx_bytes_per_second 327.93 3
    expect_payload allreduce-1GiB $gpu nvlink_tx_bytes_per_second 327.93 3
done
expect_payload send-0-to-1-1GiB 0 nvlink_tx_bytes_per_second 366.43 3
expect_payload send-0-to-1-1GiB 1 nvlink_rx_bytes_per_second 366.43 3
expect_payload host-to-device-1GiB 0 pcie_rx_bytes_per_second 52.33 9
expect_payload device-to-host-1GiB 0 pcie_tx_bytes_per_second 53.8 9

expect_exit 0 "both GPUs" "$ROOFTOP" stat -s "replay:$recording@max" --interval 5 --count 1 -f csv
cut -d, -f2,3 out >rows
printf '%s\n' index,uuid 0,GPU-00000000-0000-4000-8000-000000000001 \
    1,GPU-00000000-0000-4000-8000-000000000002 >expected
expect_same rows expected "are shown in their order"

finish
