#include "sol/sol.h"

void sol_derive(const struct device *device, struct sample *sample)
{
    (void)device;
    (void)sample;
}
