#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/common.h"
#include "counter/counter.h"
#include "tui/top.h"

static const double USUAL_BUDGET_PERCENT = 5;
enum { USUAL_WIDTH = 100, USUAL_HEIGHT = 32, MOST_WIDTH = 1000, MOST_HEIGHT = 500 };

struct settings {
    struct watch_options watch;
    bool once;
    bool paused;
    bool no_prefs;
    const char *from;
    const char *mode;
    const char *size;
    const char *theme;
    const char *characters;
    const char *span;
    double budget;
};

static const struct option_row options[] = {
    {.name = "once",
     .letter = 'o',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, once),
     .help = "Print one screen as text and end"},
    {.name = "size",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, size),
     .argument = "WxH",
     .help = "Of --once: columns and rows (those of the terminal, or 100x32)"},
    {.name = "mode",
     .letter = 'm',
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, mode),
     .argument = "MODE",
     .help = "What is shown first: sol, waterfall, pipes, links or power",
     .choices = "sol|waterfall|pipes|links|power"},
    {.name = "span",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, span),
     .argument = "TIME",
     .help = "Time that a chart covers: 10s, 30s, 1m, 2m, 5m, 15m, 1h, 4h or 12h",
     .choices = "10s|30s|1m|2m|5m|15m|1h|4h|12h"},
    {.name = "from",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, from),
     .argument = "WHERE",
     .help = "Begin a recording at this mark, or at this time from its beginning"},
    {.name = "paused",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, paused),
     .help = "Do not play the recording until Space is pressed"},
    OPTION_INTERVAL(struct settings, watch, "0.1 s, or the recording's own"),
    {.name = "theme",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, theme),
     .argument = "THEME",
     .help = "Colours: auto, dark, light or mono",
     .choices = "auto|dark|light|mono"},
    {.name = "characters",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, characters),
     .argument = "SET",
     .help = "Draw with auto, braille, block or ascii characters",
     .choices = "auto|braille|block|ascii"},
    {.name = "budget",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, budget),
     .argument = "PERCENT",
     .help = "Sample and draw less often above this share of a core (5)"},
    {.name = "no-prefs",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, no_prefs),
     .help = "Neither read nor write the preferences file"},
    OPTION_SOURCE(struct settings, watch),
    OPTION_CLOCK(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

/* An option that the preferences have too. */
static void prefer(struct prefs *prefs, const char *section, const char *key, const char *word)
{
    const struct pref *pref = pref_by_key(section, key);
    if (word)
        *pref_value(prefs, pref) = (unsigned)pref_word(pref, word);
}

static int read_prefs(const struct command *command, const struct settings *settings,
                      struct prefs *ret, struct strbuf *path)
{
    *ret = prefs_default;
    if (!settings->no_prefs && prefs_path(path) == 0) {
        struct ini_error error = {0};
        int r = prefs_read(ret, strbuf_text(path), &error);
        if (r < 0)
            return usage_error(command, "%s", error.text[0] ? error.text : strerror(-r));
    }
    prefer(ret, "screen", "mode", settings->mode);
    prefer(ret, "screen", "span", settings->span);
    prefer(ret, "screen", "theme", settings->theme);
    prefer(ret, "screen", "characters", settings->characters);
    return EXIT_DONE;
}

static int read_size(const struct command *command, const struct settings *settings,
                     struct top_options *ret)
{
    struct winsize window;
    ret->width = USUAL_WIDTH;
    ret->height = USUAL_HEIGHT;
    if (!settings->size) {
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
            ret->width = window.ws_col;
            ret->height = window.ws_row > 1 ? window.ws_row - 1 : 1;
        }
        return EXIT_DONE;
    }
    char width[8] = "";
    size_t length = strcspn(settings->size, "x");
    uint64_t columns, rows;
    if (settings->size[length] != 'x' || length >= sizeof(width))
        return usage_error(command, "--size: '%s' is not like 120x40", settings->size);
    memcpy(width, settings->size, length);
    if (parse_unsigned(width, &columns) < 0 ||
        parse_unsigned(settings->size + length + 1, &rows) < 0 || columns < 1 || rows < 1 ||
        columns > MOST_WIDTH || rows > MOST_HEIGHT)
        return usage_error(command, "--size: '%s' is not like 120x40, at most %dx%d",
                           settings->size, MOST_WIDTH, MOST_HEIGHT);
    ret->width = (int)columns;
    ret->height = (int)rows;
    return EXIT_DONE;
}

static int report(const struct command *command, const struct monitor *monitor, int r)
{
    const char *terminal = getenv("TERM");
    if (r == -ENOTTY)
        return usage_error(command, "this is no terminal: use --once for one screen as text, or "
                                    "'rooftop stat'");
    if (r == -ENOTSUP)
        return usage_error(command,
                           "TERM='%s' shows no screen: use --once for one as text, 'rooftop stat' "
                           "for lines, or\nTERM=xterm where the terminal can do more",
                           terminal ? terminal : "");
    if (r == -ENOPKG)
        return run_error(command,
                         "terminfo describes no terminal here, neither '%s' nor xterm: install "
                         "ncurses-base (Debian,\nFedora) or ncurses-terminfo-base (Alpine); "
                         "--once and 'rooftop stat' need none",
                         terminal ? terminal : "");
    return r < 0 ? watch_broken(command, monitor, r) : EXIT_DONE;
}

static int watch(const struct command *command, const struct settings *settings,
                 struct top_options *top_options, struct monitor *monitor)
{
    const struct counter *counter = monitor_counter(monitor);
    int code = EXIT_DONE;
    if (!counter->ops->live && counter->end <= 0)
        return usage_error(command, "%s: the recording holds no samples", counter->library);
    if (settings->from)
        code = watch_find_place(command, monitor, settings->from, &top_options->from);
    if (code != EXIT_DONE)
        return code;
    if (!settings->once)
        return report(command, monitor, top_run(monitor, top_options));
    struct strbuf out = {0};
    int r = top_print(monitor, top_options, &out);
    output_start();
    code = r < 0 ? report(command, monitor, r) : output_result(command, output_write(&out));
    strbuf_free(&out);
    return code;
}

static int open_and_watch(const struct command *command, const struct settings *settings,
                          struct top_options *top_options)
{
    struct monitor *monitor;
    int code = watch_open(command, &settings->watch, 0, &monitor);
    if (code == EXIT_NO_GPU)
        fputs("What works without a GPU: 'rooftop doctor' says what is missing, and "
              "'rooftop --source replay:FILE'\nshows a recording of another machine.\n",
              stderr);
    if (code != EXIT_DONE)
        return code;
    code = watch(command, settings, top_options, monitor);
    monitor_close(monitor);
    return code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.budget = USUAL_BUDGET_PERCENT};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    if (settings.budget <= 0)
        return usage_error(command, "--budget: %g is not above 0", settings.budget);
    if (!settings.once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return report(command, NULL, -ENOTTY);

    struct top_options top_options = {
        .source = counter_usual_source(settings.watch.source),
        .from = NAN,
        .paused = settings.paused,
        .budget = settings.budget / 100,
    };
    struct strbuf path = {0};
    int code = read_prefs(command, &settings, &top_options.prefs, &path);
    if (path.length > 0)
        top_options.prefs_path = path.text;
    if (code == EXIT_DONE)
        code = read_size(command, &settings, &top_options);
    if (code == EXIT_DONE && top_block_signals() == 0)
        code = open_and_watch(command, &settings, &top_options);
    strbuf_free(&path);
    return code;
}

const struct command command_top = {
    .name = "top",
    .summary = "Watch the GPUs: how hard they work, what holds them back, and who uses them",
    .operands = "",
    .options = options,
    .more = "Press F1 for the keys; rooftop-top(1) has them too. Settings that F2 saves are in\n"
            "$XDG_CONFIG_HOME/rooftop/top.ini.\n\n"
            "  rooftop top --gpu 0,1 --mode waterfall\n"
            "  rooftop top --source replay:run.roof --from 'epoch 2'\n"
            "  rooftop top --once --size 120x40 > screen.txt\n",
    .run = run,
};
