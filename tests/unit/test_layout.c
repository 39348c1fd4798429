#include "tui/layout.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"

enum { MAX_WIDTH = 250, MAX_HEIGHT = 80, MAX_DEVICES = 64, EXTRA = 64, VARIANTS = 6 };

static bool nested[MAX_DEVICES + EXTRA];
static unsigned char taken[MAX_HEIGHT][MAX_WIDTH];
static struct layout layout;

static bool is_empty(struct rect rect)
{
    return rect.width <= 0 || rect.height <= 0;
}

static bool within(struct rect inner, struct rect outer)
{
    if (inner.width < 0 || inner.height < 0)
        return false;
    return is_empty(inner) || (inner.x >= outer.x && inner.y >= outer.y &&
                               inner.x + inner.width <= outer.x + outer.width &&
                               inner.y + inner.height <= outer.y + outer.height);
}

/* False where a cell of the rectangle belongs to another one already. */
static bool take(struct rect rect)
{
    for (int y = rect.y; y < rect.y + rect.height && rect.width > 0; y++) {
        if (memchr(&taken[y][rect.x], 1, (size_t)rect.width))
            return false;
        memset(&taken[y][rect.x], 1, (size_t)rect.width);
    }
    return true;
}

static const char *check_panel(const struct panel *panel)
{
    if (is_empty(panel->area) || is_empty(panel->header))
        return "a panel without room";
    if (!within(panel->area, layout.devices))
        return "a panel outside the devices' area";
    const struct rect parts[] = {panel->header, panel->verdict, panel->chart, panel->side};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (!within(parts[i], panel->area))
            return "a part outside its panel";
        if (!take(parts[i]))
            return "a part upon another";
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *check(const struct layout_input *input)
{
    layout_compute(input, &layout);
    struct rect screen = {0, 0, input->width, input->height};
    for (int y = 0; y < input->height; y++)
        memset(taken[y], 0, (size_t)input->width);
    const struct rect bars[] = {layout.title, layout.processes, layout.timeline, layout.keys};
    for (size_t i = 0; i < ARRAY_SIZE(bars); i++) {
        if (!within(bars[i], screen))
            return "a bar outside the screen";
        if (!take(bars[i]))
            return "a bar upon another";
    }
    if (!within(layout.devices, screen))
        return "the devices outside the screen";
    if (input->device_count > 0 && layout.panel_count == 0)
        return "no device shown";
    if (layout.end_device - layout.first_device != layout.panel_count)
        return "the count of panels is not that of the devices shown";
    for (size_t i = 0; i < layout.panel_count; i++) {
        if (layout.panels[i].device != layout.first_device + i ||
            layout.panels[i].device >= input->device_count)
            return "a device out of order";
        const char *wrong = check_panel(&layout.panels[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static void check_variant(int width, int height, size_t devices, unsigned variant)
{
    struct layout_input input = {
        .width = width,
        .height = height,
        .device_count = devices,
        .nested = variant == 1 ? nested : NULL,
        .first_device = variant == 2   ? devices / 2
                        : variant == 5 ? 1000
                                       : 0,
        .zoomed = variant == 3 && devices > 0,
        .process_rows = variant * 7,
        .processes_hidden = variant == 4,
        .timeline = variant % 2 == 1,
    };
    const char *wrong = check(&input);
    if (wrong)
        fail_msg("%d×%d with %zu devices, variant %u: %s", width, height, devices, variant, wrong);
}

static void every_size_with_every_count(void **state)
{
    (void)state;
    for (int height = 1; height <= MAX_HEIGHT; height++)
        for (int width = 1; width <= MAX_WIDTH; width++)
            for (size_t devices = 0; devices <= MAX_DEVICES; devices++)
                check_variant(width, height, devices,
                              (unsigned)(height + width + (int)devices) % VARIANTS);
}

static void some_sizes_with_every_count_and_variant(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1},    {20, 5},   {40, 10},  {80, 24},  {100, 30},
                                   {132, 43}, {184, 39}, {200, 60}, {250, 80}, {250, 7}};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (size_t devices = 0; devices <= MAX_DEVICES + EXTRA; devices++)
            for (unsigned variant = 0; variant < VARIANTS; variant++)
                check_variant(sizes[i][0], sizes[i][1], devices, variant);
}

static size_t count_form(enum panel_form form)
{
    size_t count = 0;
    for (size_t i = 0; i < layout.panel_count; i++)
        count += layout.panels[i].form == form;
    return count;
}

static void shows_as_much_as_fits(void **state)
{
    (void)state;
    struct layout_input input = {.width = 80, .height = 24, .device_count = 1};
    assert_null(check(&input));
    assert_int_equal(count_form(FORM_FULL), 1);
    assert_true(layout.panels[0].chart.height >= 8);
    assert_true(layout.processes.height >= 4);

    input = (struct layout_input){.width = 200, .height = 60, .device_count = 8};
    assert_null(check(&input));
    assert_int_equal(count_form(FORM_FULL), 8);

    input = (struct layout_input){.width = 200, .height = 60, .device_count = 64};
    assert_null(check(&input));
    assert_int_equal(layout.panel_count, 64);

    input = (struct layout_input){.width = 80, .height = 24, .device_count = 1};
    assert_null(check(&input));
    assert_true(layout.panels[0].chart.width >= 40 && layout.panels[0].side.width > 30);

    input = (struct layout_input){.width = 80, .height = 24, .device_count = 64};
    assert_null(check(&input));
    assert_int_equal(count_form(FORM_ROW), layout.panel_count);
    assert_true(layout.panel_count < 64);
    input.first_device = 60;
    assert_null(check(&input));
    assert_int_equal(layout.end_device, 64);
}

static void mig_instances_have_the_charts_of_their_gpu(void **state)
{
    (void)state;
    const bool mig[] = {false, true, true, true, false};
    struct layout_input input = {
        .width = 120, .height = 50, .device_count = ARRAY_SIZE(mig), .nested = mig};
    assert_null(check(&input));
    assert_int_equal(count_form(FORM_FULL), 4);
    assert_int_equal(layout.panels[0].form, FORM_BRIEF);
    assert_int_equal(layout.panels[1].area.y,
                     layout.panels[0].area.y + layout.panels[0].area.height);
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(nested); i++)
        nested[i] = i % 5 != 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_with_every_count),
        cmocka_unit_test(some_sizes_with_every_count_and_variant),
        cmocka_unit_test(shows_as_much_as_fits),
        cmocka_unit_test(mig_instances_have_the_charts_of_their_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
