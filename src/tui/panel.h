/* What is drawn of one device. Each function draws into its rectangle whatever fits. */
#pragma once

#include "metric/sample.h"
#include "tui/draw.h"

struct panel_data {
    const struct draw *draw;
    const struct model_device *device;
    const struct sample *sample; /* of the time that is shown */
    size_t index;                /* of the device */
    bool selected;
    bool nested;
};

/* What fits this header, with words as short as draw->header.length at least. */
struct header_form panel_header_form(const struct panel_data *data, const struct panel *panel);
void panel_header(const struct panel_data *data, const struct panel *panel);
void panel_verdict(const struct panel_data *data, struct rect rect);

/* The header's name alone; returns the columns it took. */
int panel_name(const struct panel_data *data, struct rect rect);
/* What the mode shows, but of SOL, in one row: of a GPU that has no room for its meters. */
void panel_line(const struct panel_data *data, struct rect rect);

/* The chart's curves, by mode. */
void panel_chart(const struct panel_data *data, struct rect rect, unsigned mode);
/* The meters of a mode; each returns the rows it took. */
int panel_waterfall(const struct panel_data *data, struct rect rect);
int panel_pipes(const struct panel_data *data, struct rect rect);
int panel_links(const struct panel_data *data, struct rect rect);
enum { VITALS = 4 };
/* Memory, power, clock and temperature, each with its bar. */
void panel_vitals(const struct panel_data *data, struct rect rect);
/* The panel's side has room for all of them below the links. */
bool panel_has_vitals(const struct panel *panel);
int panel_power(const struct panel_data *data, struct rect rect);
/* What keeps the clocks down; false where nothing does. */
bool panel_held_words(const struct sample *sample, struct strbuf *out);

/* The character of the metric's curve in the mode's chart, and its role; 0 where it has none. */
uint32_t panel_curve_sign(const struct draw *draw, enum metric metric, enum style *ret_style);

/* The value that is the full height of a chart or length of a bar; 0 where that is not known. */
double panel_full_scale(const struct panel_data *data, enum metric metric);

/* One line: a name, a bar for `ratio`, and text behind it. NAN: no bar. */
void panel_meter(const struct panel_data *data, int x, int y, int width, const char *name,
                 double ratio, enum style style, const char *text);
