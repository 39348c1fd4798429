#include "tui/cost.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

/* The first is short, so that the help screen has figures soon. */
static const double FIRST_STRETCH_SECONDS = 0.5, STRETCH_SECONDS = 2;

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    unsigned long total, resident;
    int count = fscanf(file, "%lu %lu", &total, &resident);
    fclose(file);
    return count == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

void cost_start(struct cost_meter *meter, struct model_cost *cost, double budget, double now)
{
    *meter = (struct cost_meter){.began = now, .cpu = clock_cpu()};
    cost->budget = budget;
    cost->frame_period = COST_SHORTEST_PERIOD;
}

/* Back again only well below the budget, so that it does not swing. */
double cost_next_period(double period, double cpu, double budget)
{
    if (cpu > budget)
        period *= 2;
    else if (cpu < budget / 3)
        period /= 2;
    return period < COST_SHORTEST_PERIOD  ? COST_SHORTEST_PERIOD
           : period > COST_LONGEST_PERIOD ? COST_LONGEST_PERIOD
                                          : period;
}

bool cost_update(struct cost_meter *meter, struct model_cost *cost, double now)
{
    cost->frames++;
    double elapsed = now - meter->began;
    if (elapsed < (cost->known ? STRETCH_SECONDS : FIRST_STRETCH_SECONDS))
        return false;
    double cpu = clock_cpu();
    cost->cpu = (cpu - meter->cpu) / elapsed;
    cost->resident_bytes = resident_bytes();
    cost->known = true;
    cost->frame_period = cost_next_period(cost->frame_period, cost->cpu, cost->budget);
    cost->slowed = cost->frame_period > COST_SHORTEST_PERIOD;
    meter->began = now;
    meter->cpu = cpu;
    return true;
}
