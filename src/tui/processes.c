#include "tui/processes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

enum { MAX_ROWS = 8192, MAX_ANCESTORS = 8 };

void process_table_free(struct process_table *table)
{
    free(table->rows);
    *table = (struct process_table){0};
}

static struct process_row *add_row(struct process_table *table)
{
    if (array_grow(&table->rows, table->count, &table->room, sizeof(*table->rows)) < 0)
        return NULL;
    struct process_row *row = &table->rows[table->count++];
    *row = (struct process_row){0};
    return row;
}

static void describe(struct process_row *row, const struct process_lookup *lookup)
{
    const struct process_description *description = lookup->describe(lookup->context, row->pid);
    row->outside = description->outside;
    row->start_time = description->start_time;
    row->parent = description->parent;
    snprintf(row->user, sizeof(row->user), "%.*s", (int)sizeof(row->user) - 1, description->user);
    snprintf(row->container, sizeof(row->container), "%.*s", (int)sizeof(row->container) - 1,
             description->container);
    snprintf(row->command, sizeof(row->command), "%.*s", (int)sizeof(row->command) - 1,
             description->command);
}

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

static bool matches(const struct process_row *row, const char *filter)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)row->pid);
    return !filter[0] || contains(row->command, filter) || contains(row->user, filter) ||
           contains(row->container, filter) || strncmp(pid, filter, strlen(filter)) == 0;
}

static int add_process(struct process_table *table, size_t device, const struct process *process,
                       const struct process_query *query, const struct process_lookup *lookup)
{
    struct process_row *row = add_row(table);
    if (!row)
        return -ENOMEM;
    row->kind = ROW_PROCESS;
    row->device = device;
    row->pid = process->pid;
    row->kinds = process->kinds;
    row->memory_known = process->memory_known;
    row->memory_bytes = (double)process->memory_bytes;
    row->sm_known = process->sm_known;
    row->sm_ratio = process->sm_ratio;
    describe(row, lookup);
    if (!matches(row, query->filter))
        table->count--;
    return 0;
}

/* Memory of a GPU that is cut into instances is held by the instances' processes. */
static bool has_instances(const struct model *model, size_t device)
{
    return device + 1 < model->device_count && model->nested[device + 1] && !model->nested[device];
}

static int add_remark(struct process_table *table, const struct model *model, size_t device)
{
    const struct reading *reading = &model->devices[device].reading;
    double held = 0;
    if (reading->state != READING_OK || has_instances(model, device))
        return 0;
    if (reading->processes.known)
        held = reading_unowned_memory(reading);
    if (reading->processes.known && held == 0)
        return 0;
    struct process_row *row = add_row(table);
    if (!row)
        return -ENOMEM;
    row->kind = reading->processes.known ? ROW_HELD : ROW_UNKNOWN;
    row->device = device;
    row->memory_known = reading->processes.known;
    row->memory_bytes = held;
    return 0;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* What is not known is the least. */
static double known(bool is_known, double value)
{
    return is_known ? value : -1;
}

static int compare_by(enum process_column column, const struct process_row *a,
                      const struct process_row *b)
{
    switch (column) {
    case COLUMN_USER:
        return strcmp(a->user, b->user);
    case COLUMN_GPU:
        return compare_numbers((double)a->device, (double)b->device);
    case COLUMN_TYPE:
        return compare_numbers(a->kinds, b->kinds);
    case COLUMN_MEMORY:
        return compare_numbers(known(a->memory_known, a->memory_bytes),
                               known(b->memory_known, b->memory_bytes));
    case COLUMN_SM:
        return compare_numbers(known(a->sm_known, a->sm_ratio), known(b->sm_known, b->sm_ratio));
    case COLUMN_TIME:
        return compare_numbers(a->start_time, b->start_time);
    case COLUMN_CONTAINER:
        return strcmp(a->container, b->container);
    case COLUMN_COMMAND:
        return strcmp(a->command, b->command);
    default:
        return compare_numbers(a->pid, b->pid);
    }
}

/* Remarks stand last; equal rows stand by PID and device, so that the order never flickers. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct process_row *a = left, *b = right;
    const struct process_query *query = context;
    if ((a->kind != ROW_PROCESS) != (b->kind != ROW_PROCESS))
        return a->kind != ROW_PROCESS ? 1 : -1;
    int order = a->kind == ROW_PROCESS ? compare_by(query->sort, a, b) : 0;
    if (order != 0)
        return query->descending ? -order : order;
    order = compare_numbers(a->pid, b->pid);
    return order != 0 ? order : compare_numbers((double)a->device, (double)b->device);
}

static size_t row_of_pid(const struct process_table *table, pid_t pid)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].kind == ROW_PROCESS && table->rows[i].pid == pid)
            return i;
    return SIZE_MAX;
}

/* The row of the nearest ancestor that is in the table too. */
static size_t parent_row(const struct process_table *table, const struct process_row *row,
                         const struct process_lookup *lookup)
{
    pid_t pid = row->kind == ROW_PROCESS ? row->parent : 0;
    for (int i = 0; i < MAX_ANCESTORS && pid > 1 && pid != row->pid; i++) {
        size_t found = row_of_pid(table, pid);
        if (found != SIZE_MAX)
            return found;
        pid = lookup->describe(lookup->context, pid)->parent;
    }
    return SIZE_MAX;
}

struct tree {
    const struct process_table *table;
    const size_t *parent;
    bool *placed;
    struct process_row *out;
    size_t count;
};

static void place_children(struct tree *tree, size_t parent, int depth)
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < tree->table->count; i++) {
        if (tree->placed[i] || tree->parent[i] != parent)
            continue;
        tree->placed[i] = true;
        last = tree->count;
        tree->out[tree->count] = tree->table->rows[i];
        tree->out[tree->count++].depth = depth;
        if (depth < MAX_ANCESTORS)
            place_children(tree, i, depth + 1);
    }
    if (last != SIZE_MAX)
        tree->out[last].last = true;
}

/* Brings the rows, sorted already, into the order of a tree. */
static int make_tree(struct process_table *table, const struct process_lookup *lookup)
{
    size_t *parent = calloc(table->count + 1, sizeof(*parent));
    bool *placed = calloc(table->count + 1, sizeof(*placed));
    struct process_row *out = calloc(table->room + 1, sizeof(*out));
    int r = parent && placed && out ? 0 : -ENOMEM;
    if (r == 0) {
        for (size_t i = 0; i < table->count; i++)
            parent[i] = parent_row(table, &table->rows[i], lookup);
        struct tree tree = {table, parent, placed, out, 0};
        place_children(&tree, SIZE_MAX, 0);
        /* Parents that go round in a ring, or too deep, hang on nothing. */
        for (size_t i = 0; i < table->count; i++)
            if (!placed[i])
                out[tree.count++] = table->rows[i];
        free(table->rows);
        table->rows = out;
        out = NULL;
    }
    free(out);
    free(parent);
    free(placed);
    return r;
}

static int add_device(struct process_table *table, const struct model *model, size_t device,
                      const struct process_query *query, const struct process_lookup *lookup)
{
    const struct process_list *list = &model->devices[device].reading.processes;
    for (size_t i = 0; i < list->count && table->count < MAX_ROWS; i++) {
        int r = add_process(table, device, &list->process[i], query, lookup);
        if (r < 0)
            return r;
    }
    return query->filter[0] ? 0 : add_remark(table, model, device);
}

int process_table_fill(struct process_table *table, const struct model *model,
                       const struct process_query *query, const struct process_lookup *lookup)
{
    table->count = 0;
    int r = 0;
    for (size_t i = 0; i < model->device_count && r == 0; i++)
        if (query->only_device == SIZE_MAX || query->only_device == i)
            r = add_device(table, model, i, query, lookup);
    if (r == 0 && table->count > 1)
        qsort_r(table->rows, table->count, sizeof(*table->rows), compare_rows, (void *)query);
    if (r == 0 && query->tree && table->count > 1)
        r = make_tree(table, lookup);
    if (r < 0)
        table->count = 0;
    return r;
}
