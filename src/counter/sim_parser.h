/* The inside of sim_script.c and its parts, each of which reads some of the statements. */
#pragma once

#include "base/util.h"
#include "counter/sim_script.h"

enum { SIM_LONGEST_LINE = 8192, SIM_MOST_WORDS = 256 };

struct sim_parser {
    struct sim_script *script;
    const char *name;
    unsigned line;
    char text[SIM_LONGEST_LINE]; /* the words of the line, in place */
    char *words[SIM_MOST_WORDS];
    size_t word_count;

    double now;          /* the present moment; negative before the first */
    size_t open_changes; /* the first change of the present moment */
    bool ended;

    size_t device_room, change_room, mark_room, person_room;
    struct counter_failure *failure;
};

/* Says where and what, and gives -EINVAL. */
int sim_refuse(struct sim_parser *parser, const char *format, ...) PRINTF_LIKE(2, 3);
/* Cuts a line into words: blanks separate them except within double quotes, which are taken off;
 * \" and \\ stand for themselves there; # begins a comment. */
int sim_split_line(struct sim_parser *parser, const char *line, size_t length);
/* Splits "key=value" in place; the value, or NULL where there is no "=". */
char *sim_split_value(char *word);
int sim_number_word(struct sim_parser *parser, size_t word, const char *what, double least,
                    double most, double *ret);
/* Adds the change for each device that the line names, from the present moment on. */
int sim_add_for_each(struct sim_parser *parser, struct sim_change change);

int sim_device_line(struct sim_parser *parser);
int sim_process_line(struct sim_parser *parser);
int sim_processes_line(struct sim_parser *parser);
