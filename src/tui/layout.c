#include "tui/layout.h"

/* What a panel needs to be worth its room. */
enum {
    FULL_MIN_HEIGHT = 4,
    FULL_GOOD_HEIGHT = 10,
    FULL_MAX_HEIGHT = 30,
    BRIEF_HEIGHT = 2,
    ONE_LINE_WIDTH = 140, /* from here on most sentences fit into one line */
    TWO_LINES_MIN_HEIGHT = 10,
    COLUMN_MIN_WIDTH = 76,
    ROW_COLUMN_MIN_WIDTH = 60,
    COLUMN_GAP = 2,
    MAX_COLUMNS = 4,
    SIDE_WIDTH = 37,
    SIDE_MIN_CHART = 43, /* so that 80 columns have both */
    PROCESS_MIN_ROWS = 3,
    PROCESS_STEP = 4, /* the table grows in steps, so that the screen seldom moves */
};

struct grid {
    enum panel_form form;
    int columns;
    int height; /* of a panel, but of a divided GPU's */
};

static int at_least(int value, int bound)
{
    return value > bound ? value : bound;
}

static int at_most(int value, int bound)
{
    return value < bound ? value : bound;
}

/* A GPU that is cut into instances: what there is to see is theirs. */
static bool is_divided(const struct layout_input *input, size_t device)
{
    return input->nested && !input->nested[device] && device + 1 < input->device_count &&
           input->nested[device + 1];
}

static int entry_height(const struct layout_input *input, const struct grid *grid, size_t device)
{
    return is_divided(input, device) ? at_most(grid->height, BRIEF_HEIGHT) : grid->height;
}

static enum panel_form entry_form(const struct layout_input *input, const struct grid *grid,
                                  size_t device)
{
    return is_divided(input, device) && grid->form == FORM_FULL ? FORM_BRIEF : grid->form;
}

/* Fills columns from the top; calls back for each device that fits below the other or beside. */
struct flow {
    const struct layout_input *input;
    const struct grid *grid;
    struct rect area;
    int column;
    int y;
};

static bool flow_place(struct flow *flow, size_t device, struct rect *ret)
{
    int height = entry_height(flow->input, flow->grid, device);
    if (flow->y + height > flow->area.height) {
        if (flow->y == 0 || ++flow->column >= flow->grid->columns || height > flow->area.height)
            return false;
        flow->y = 0;
    }
    int columns = flow->grid->columns;
    int width = (flow->area.width - COLUMN_GAP * (columns - 1)) / columns;
    *ret = (struct rect){flow->area.x + flow->column * (width + COLUMN_GAP), flow->area.y + flow->y,
                         width, height};
    flow->y += height;
    return true;
}

static size_t count_fitting(const struct layout_input *input, const struct grid *grid,
                            struct rect area, size_t first)
{
    struct flow flow = {.input = input, .grid = grid, .area = area};
    size_t device = first;
    struct rect ignored;
    while (device < input->device_count && flow_place(&flow, device, &ignored))
        device++;
    return device - first;
}

static int max_columns(int width, int min_width)
{
    int columns = (width + COLUMN_GAP) / (min_width + COLUMN_GAP);
    return at_most(at_least(columns, 1), MAX_COLUMNS);
}

static size_t count_whole(const struct layout_input *input)
{
    size_t count = 0;
    for (size_t i = 0; i < input->device_count; i++)
        count += !is_divided(input, i);
    return count;
}

/* The tallest panels with which everything fits into the columns, or 0. */
static int tallest(const struct layout_input *input, struct rect area, int columns)
{
    for (int height = at_most(area.height, FULL_MAX_HEIGHT); height >= FULL_MIN_HEIGHT; height--) {
        struct grid grid = {FORM_FULL, columns, height};
        if (count_fitting(input, &grid, area, 0) == input->device_count)
            return height;
    }
    return 0;
}

/* The fewest columns with charts of a good height, else with charts at all. */
static bool choose_full(const struct layout_input *input, struct rect area, struct grid *ret)
{
    bool found = false;
    for (int columns = 1; columns <= max_columns(area.width, COLUMN_MIN_WIDTH); columns++) {
        int height = tallest(input, area, columns);
        if (height == 0)
            continue;
        if (!found || height >= FULL_GOOD_HEIGHT)
            *ret = (struct grid){FORM_FULL, columns, height};
        found = true;
        if (height >= FULL_GOOD_HEIGHT)
            break;
    }
    return found;
}

static bool choose_fixed(const struct layout_input *input, struct rect area, enum panel_form form,
                         int height, int min_width, struct grid *ret)
{
    int most = max_columns(area.width, min_width);
    for (int columns = 1; columns <= most; columns++) {
        *ret = (struct grid){form, columns, height};
        if (count_fitting(input, ret, area, 0) == input->device_count)
            return true;
    }
    return false;
}

static struct grid choose_grid(const struct layout_input *input, struct rect area)
{
    struct grid grid;
    if (count_whole(input) * FULL_MIN_HEIGHT <= (size_t)area.height * MAX_COLUMNS &&
        choose_full(input, area, &grid))
        return grid;
    if (choose_fixed(input, area, FORM_BRIEF, BRIEF_HEIGHT, COLUMN_MIN_WIDTH, &grid))
        return grid;
    choose_fixed(input, area, FORM_ROW, 1, ROW_COLUMN_MIN_WIDTH, &grid);
    return grid;
}

/* Sentences and charts of all GPUs are worth more than a long table: where a short one makes room
 * for them, the area grows by what the table gives up. */
static void widen(const struct layout_input *input, struct rect *area, int spare)
{
    struct rect larger = *area;
    larger.height += spare;
    if (spare > 0 && !input->zoomed &&
        choose_grid(input, larger).form > choose_grid(input, *area).form)
        *area = larger;
}

static void split_full(struct panel *panel)
{
    struct rect area = panel->area;
    int verdict = area.height >= TWO_LINES_MIN_HEIGHT && area.width < ONE_LINE_WIDTH ? 2 : 1;
    panel->verdict =
        (struct rect){area.x, area.y + 1, area.width, at_most(area.height - 1, verdict)};
    struct rect rest = {area.x, area.y + 1 + verdict, area.width,
                        at_least(area.height - 1 - verdict, 0)};
    int side = area.width >= SIDE_WIDTH + SIDE_MIN_CHART && rest.height >= 3 ? SIDE_WIDTH : 0;
    panel->chart = (struct rect){rest.x, rest.y, rest.width - side, rest.height};
    panel->side = (struct rect){rest.x + rest.width - side, rest.y, side, rest.height};
}

static void add_panel(struct layout *layout, size_t device, enum panel_form form, struct rect area)
{
    struct panel *panel = &layout->panels[layout->panel_count++];
    *panel = (struct panel){.device = device, .form = form, .area = area};
    panel->header = (struct rect){area.x, area.y, area.width, at_most(area.height, 1)};
    if (form == FORM_FULL)
        split_full(panel);
    else if (form == FORM_BRIEF)
        panel->verdict = (struct rect){area.x, area.y + 1, area.width, at_most(area.height - 1, 1)};
}

static void place_panels(const struct layout_input *input, const struct grid *grid,
                         struct layout *layout)
{
    struct flow flow = {.input = input, .grid = grid, .area = layout->devices};
    size_t device = layout->first_device;
    struct rect area;
    while (device < input->device_count && layout->panel_count < LAYOUT_MAX_PANELS &&
           flow_place(&flow, device, &area)) {
        add_panel(layout, device, entry_form(input, grid, device), area);
        device++;
    }
    layout->end_device = device;
}

/* The first device, moved back where room would be left empty behind the last. */
static size_t bounded_first(const struct layout_input *input, const struct grid *grid,
                            struct rect area)
{
    size_t first = input->first_device;
    if (first >= input->device_count)
        first = input->device_count - 1;
    while (first > 0 &&
           first - 1 + count_fitting(input, grid, area, first - 1) == input->device_count)
        first--;
    return first;
}

static int used_height(const struct layout *layout)
{
    int end = layout->devices.y;
    for (size_t i = 0; i < layout->panel_count; i++)
        end = at_least(end, layout->panels[i].area.y + layout->panels[i].area.height);
    return end - layout->devices.y;
}

static void place_devices(const struct layout_input *input, struct layout *layout)
{
    if (input->device_count == 0 || layout->devices.height <= 0)
        return;
    if (input->zoomed) {
        size_t last = input->device_count - 1;
        layout->first_device = input->first_device < last ? input->first_device : last;
        layout->end_device = layout->first_device + 1;
        add_panel(layout, layout->first_device, FORM_FULL, layout->devices);
        return;
    }
    struct grid grid = choose_grid(input, layout->devices);
    layout->first_device = bounded_first(input, &grid, layout->devices);
    place_panels(input, &grid, layout);
}

/* Rows for the table, its head included; 0 where there is no room. */
static int process_height(const struct layout_input *input, int body)
{
    if (input->processes_hidden || body < 10)
        return 0;
    int rows = (int)util_min(input->process_rows, 1000);
    rows = (rows + PROCESS_STEP - 1) / PROCESS_STEP * PROCESS_STEP;
    int most = at_least(body * 2 / 5, 1 + PROCESS_MIN_ROWS);
    return at_most(at_least(rows, PROCESS_MIN_ROWS) + 1, most);
}

static void place_bars(const struct layout_input *input, struct layout *layout, int *top,
                       int *bottom)
{
    int width = input->width;
    *top = 0;
    *bottom = input->height;
    if (input->height >= 4)
        layout->title = (struct rect){0, (*top)++, width, 1};
    if (input->height >= 5)
        layout->keys = (struct rect){0, --*bottom, width, 1};
    if (input->timeline && input->height >= 7)
        layout->timeline = (struct rect){0, --*bottom, width, 1};
}

void layout_compute(const struct layout_input *input, struct layout *ret)
{
    ret->title = ret->devices = ret->processes = ret->timeline = ret->keys = (struct rect){0};
    ret->first_device = ret->end_device = 0;
    ret->panel_count = 0;
    if (input->width <= 0 || input->height <= 0)
        return;

    int top, bottom;
    place_bars(input, ret, &top, &bottom);
    int processes = process_height(input, bottom - top);
    ret->devices = (struct rect){0, top, input->width, bottom - top - processes};
    if (processes > 0 && input->device_count > 0)
        widen(input, &ret->devices, processes - 1 - PROCESS_MIN_ROWS);
    place_devices(input, ret);
    if (processes == 0)
        return;
    /* What the devices leave goes to the table. */
    ret->devices.height = used_height(ret);
    int start = ret->devices.y + ret->devices.height;
    ret->processes = (struct rect){0, start, input->width, bottom - start};
}

struct rect layout_track(struct rect timeline)
{
    enum { POSITION_WIDTH = 24, NAME_WIDTH = 28, NAME_MIN_TRACK = 40 };
    int left = timeline.width > 2 * POSITION_WIDTH ? POSITION_WIDTH : 0;
    int right = timeline.width >= left + NAME_WIDTH + NAME_MIN_TRACK ? NAME_WIDTH : 0;
    return (struct rect){timeline.x + left, timeline.y, timeline.width - left - right,
                         timeline.height};
}
