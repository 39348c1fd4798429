#include "cmd/commands.h"

#include <string.h>

extern const struct command command_bench;
extern const struct command command_calibrate;
extern const struct command command_ceilings;
extern const struct command command_counters;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_list;
extern const struct command command_mark;
extern const struct command command_record;
extern const struct command command_reference;
extern const struct command command_release;
extern const struct command command_profile;
extern const struct command command_run;
extern const struct command command_slots;
extern const struct command command_report;
extern const struct command command_roi;
extern const struct command command_served;
extern const struct command command_stat;
extern const struct command command_top;
extern const struct command command_version;
extern const struct command command_waterfall;

/* One a line. */
/* clang-format off */
const struct command *const commands[] = {
    &command_top,
    &command_stat,
    &command_record,
    &command_mark,
    &command_diff,
    &command_waterfall,
    &command_served,
    &command_bench,
    &command_calibrate,
    &command_ceilings,
    &command_run,
    &command_slots,
    &command_report,
    &command_roi,
    &command_profile,
    &command_list,
    &command_doctor,
    &command_release,
    &command_version,
    &command_counters,
    &command_reference,
    NULL,
};
/* clang-format on */

const struct command *command_by_name(const char *name)
{
    for (const struct command *const *command = commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}
