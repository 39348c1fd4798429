# Time to start: the mean of many starts, one after the other.
runs=200
start=$(date +%s%N)
i=0
while [ $i -lt $runs ]; do
    "$ROOFTOP" version >/dev/null || exit 1
    i=$((i + 1))
done
end=$(date +%s%N)
printf 'start of the program (rooftop version), mean of %d\t%d\tus\n' $runs $(((end - start) / runs / 1000))
