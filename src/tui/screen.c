#include "tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "tui/input.h"

enum look { LOOK_DIM = 1 << 0, LOOK_BOLD = 1 << 1, LOOK_REVERSE = 1 << 2 };

static const double DOUBLE_CLICK_SECONDS = 0.4;

/* An Escape that nothing follows for so long is the key. */
enum { ESCAPE_MILLISECONDS = 25 };

/* A terminal that has not answered by then will not. */
static const double ANSWER_SECONDS = 0.5;

/* The other screen, no cursor, no new line by itself at the right edge; and back. */
static const char take_sequence[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
static const char give_sequence[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
static const char mouse_on[] = "\x1b[?1000h\x1b[?1006h";
static const char mouse_off[] = "\x1b[?1006l\x1b[?1000l";
static const char clear_sequence[] = "\x1b[0m\x1b[H\x1b[2J";
static const char ask_background[] = "\x1b]11;?\x1b\\";

struct style_look {
    short dark256, light256, dark8, light8;
    unsigned char look, mono;
};

static const struct style_look looks[STYLE_COUNT] = {
#define STYLE(id, dark256, light256, dark8, light8, look, mono)                                    \
    [STYLE_##id] = {dark256, light256, dark8, light8, look, mono},
#include "tui/style.def"
#undef STYLE
};

enum { SGR_SIZE = 32 };

struct screen {
    struct termios before;
    int width, height;
    struct strbuf out;  /* to be written */
    struct cells shown; /* what the terminal shows */
    bool shown_all;     /* false: it is to be written anew */
    int x, y;           /* of the cursor; x is −1 where it is not known */
    int style;          /* of what is written next, −1: not known */

    unsigned theme;
    bool light;   /* the background, as far as is known */
    double asked; /* for the background, monotonic; 0: not, or it has answered */
    bool mouse;
    char sgr[STYLE_COUNT][SGR_SIZE];

    char input[256];
    size_t input_length;
    double click_time;
    int click_x, click_y;
};

static const char *terminal_type(void)
{
    const char *type = getenv("TERM");
    return type ? type : "";
}

enum charset screen_charset(unsigned characters)
{
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0 || characters == CHARACTERS_ASCII)
        return CHARSET_ASCII;
    if (characters == CHARACTERS_AUTO)
        return strcmp(terminal_type(), "linux") == 0 ? CHARSET_BLOCK : CHARSET_BRAILLE;
    return characters == CHARACTERS_BLOCK ? CHARSET_BLOCK : CHARSET_BRAILLE;
}

static bool is_one_of(const char *type, const char *const *starts)
{
    for (; *starts; starts++)
        if (strncmp(type, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

/* Every terminal in use knows the sequences of ECMA-48, so none is looked up in a database that a
 * small container lacks; only how many colours there are is told by the name. */
static int count_colours(void)
{
    static const char *const none[] = {"vt1", "vt2", "vt3", "vt4", "vt5", NULL};
    static const char *const many[] = {"alacritty",     "contour",     "foot",
                                       "ghostty",       "kitty",       "wezterm",
                                       "xterm-ghostty", "xterm-kitty", NULL};
    const char *type = terminal_type(), *no_color = getenv("NO_COLOR");
    const char *depth = getenv("COLORTERM");
    if ((no_color && no_color[0]) || is_one_of(type, none) || strstr(type, "-mono"))
        return 0;
    bool told = depth && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0);
    return told || strstr(type, "256color") || strstr(type, "direct") || is_one_of(type, many) ? 256
                                                                                               : 8;
}

/* rxvt, konsole and others tell their colours as "FOREGROUND;BACKGROUND". */
static const char *told_background(void)
{
    const char *colours = getenv("COLORFGBG");
    return colours ? strrchr(colours, ';') : NULL;
}

static bool is_light(const char *background)
{
    return background && (strcmp(background, ";7") == 0 || strcmp(background, ";15") == 0);
}

static void make_sgr(char *ret, unsigned look, int colour, int colours)
{
    int length = snprintf(ret, SGR_SIZE, "\x1b[0%s%s%s", look & LOOK_BOLD ? ";1" : "",
                          look & LOOK_DIM ? ";2" : "", look & LOOK_REVERSE ? ";7" : "");
    char *end = ret + length;
    size_t left = SGR_SIZE - (size_t)length;
    if (colour < 0)
        snprintf(end, left, "m");
    else if (colours > 8)
        snprintf(end, left, ";38;5;%dm", colour);
    else
        snprintf(end, left, ";3%dm", colour);
}

static void set_theme(struct screen *screen, unsigned theme)
{
    int colours = theme == THEME_MONO ? 0 : count_colours();
    bool light = theme == THEME_LIGHT || (theme == THEME_AUTO && screen->light);
    for (int i = 0; i < STYLE_COUNT; i++) {
        const struct style_look *look = &looks[i];
        int colour = colours == 0  ? -1
                     : colours > 8 ? (light ? look->light256 : look->dark256)
                                   : (light ? look->light8 : look->dark8);
        unsigned attributes = colours == 0 ? look->mono : look->look;
        /* A dimmed colour that is dim by itself could not be read. */
        make_sgr(screen->sgr[i], colour < 0 ? attributes : attributes & ~(unsigned)LOOK_DIM, colour,
                 colours);
    }
    screen->theme = theme;
    screen->shown_all = false;
}

/* All that is in `out`; what a terminal that is gone does not take is lost. */
static void send(struct screen *screen)
{
    const char *text = strbuf_text(&screen->out);
    size_t left = screen->out.length;
    while (left > 0) {
        ssize_t written = write(STDOUT_FILENO, text, left);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&out, 1, -1);
        } else if (written < 0 && errno != EINTR)
            break;
        else if (written > 0) {
            text += written;
            left -= (size_t)written;
        }
    }
    strbuf_clear(&screen->out);
}

static void set_mouse(struct screen *screen, bool mouse)
{
    strbuf_puts(&screen->out, mouse ? mouse_on : mouse_off);
    screen->mouse = mouse;
}

/* Where COLORFGBG does not tell, the terminal is asked; its answer comes as an input, early or
 * late. tmux and screen would answer for themselves or not at all, the consoles show the question.
 */
static void ask(struct screen *screen)
{
    static const char *const silent[] = {"screen", "tmux", "linux", "vt", "ansi", "cons", NULL};
    if (screen->theme != THEME_AUTO || told_background() || is_one_of(terminal_type(), silent) ||
        count_colours() == 0)
        return;
    strbuf_puts(&screen->out, ask_background);
    screen->asked = clock_monotonic();
}

static int take(struct screen *screen, bool mouse)
{
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | ISTRIP | IXON);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return -errno;
    strbuf_puts(&screen->out, take_sequence);
    if (mouse)
        set_mouse(screen, true);
    screen->shown_all = false;
    return 0;
}

static bool fill(struct screen *screen, int milliseconds)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t room = sizeof(screen->input) - screen->input_length;
    if (room == 0 || poll(&in, 1, milliseconds) <= 0)
        return false;
    ssize_t got = read(STDIN_FILENO, &screen->input[screen->input_length], room);
    screen->input_length += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* An answer that came after the end would stand on the shell's command line. */
static void await_answer(struct screen *screen)
{
    double left;
    struct input input;
    while (screen->asked > 0 && (left = screen->asked + ANSWER_SECONDS - clock_monotonic()) > 0) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&in, 1, (int)(left * 1000) + 1) <= 0 || in.revents != POLLIN)
            break;
        while (screen_read(screen, &input))
            ;
    }
}

static void give_back(struct screen *screen)
{
    await_answer(screen);
    if (screen->mouse)
        strbuf_puts(&screen->out, mouse_off);
    strbuf_puts(&screen->out, give_sequence);
    send(screen);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
}

static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    int number = text ? atoi(text) : 0;
    return number > 0 && number <= 9999 ? number : otherwise;
}

void screen_resized(struct screen *screen)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    screen->width = known ? size.ws_col : number_of("COLUMNS", 80);
    screen->height = known ? size.ws_row : number_of("LINES", 24);
    screen->shown_all = false;
}

int screen_open(struct screen **ret, const struct prefs *prefs)
{
    static const char *const dumb[] = {"dumb", "unknown", "emacs", NULL};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return -ENOTTY;
    if (!terminal_type()[0] || is_one_of(terminal_type(), dumb))
        return -ENOTSUP;
    struct screen *screen = calloc(1, sizeof(*screen));
    if (!screen)
        return -ENOMEM;
    int r = tcgetattr(STDIN_FILENO, &screen->before) < 0 ? -errno : take(screen, prefs->mouse != 0);
    if (r < 0) {
        free(screen);
        return r;
    }
    screen->light = is_light(told_background());
    screen_resized(screen);
    set_theme(screen, prefs->theme);
    ask(screen);
    *ret = screen;
    return 0;
}

void screen_close(struct screen *screen)
{
    if (!screen)
        return;
    give_back(screen);
    cells_free(&screen->shown);
    strbuf_free(&screen->out);
    free(screen);
}

/* As if nobody had asked for the signal. */
static void stop_here(void)
{
    sigset_t set;
    struct sigaction asked, usual = {.sa_handler = SIG_DFL};
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaction(SIGTSTP, &usual, &asked);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGTSTP, &asked, NULL);
}

int screen_suspend(struct screen *screen)
{
    give_back(screen);
    stop_here();
    screen_resized(screen);
    return take(screen, screen->mouse);
}

void screen_size(const struct screen *screen, int *ret_width, int *ret_height)
{
    *ret_width = screen->width;
    *ret_height = screen->height;
}

void screen_adopt(struct screen *screen, const struct prefs *prefs)
{
    if (screen->theme != prefs->theme)
        set_theme(screen, prefs->theme);
    if (screen->mouse != (prefs->mouse != 0))
        set_mouse(screen, prefs->mouse != 0);
}

void screen_forget(struct screen *screen)
{
    screen->shown_all = false;
}

static bool same_cell(const struct cell *a, const struct cell *b)
{
    return a->character == b->character && a->style == b->style;
}

static void move_to(struct screen *screen, int x, int y)
{
    if (screen->x < 0 || y != screen->y || x < screen->x)
        strbuf_printf(&screen->out, "\x1b[%d;%dH", y + 1, x + 1);
    else if (x > screen->x)
        strbuf_printf(&screen->out, "\x1b[%dC", x - screen->x);
    screen->x = x;
    screen->y = y;
}

/* At the right edge terminals differ in where the cursor is. */
static void put_cell(struct screen *screen, int x, int y, const struct cell *cell, int columns)
{
    move_to(screen, x, y);
    if (screen->style != (int)cell->style)
        strbuf_puts(&screen->out, screen->sgr[cell->style]);
    screen->style = (int)cell->style;
    utf8_put(&screen->out, cell->character);
    screen->x = x + columns < screen->width ? x + columns : -1;
}

static void show_row(struct screen *screen, int y, const struct cell *row, struct cell *shown)
{
    size_t width = (size_t)screen->shown.width;
    if (memcmp(row, shown, width * sizeof(*row)) == 0)
        return;
    for (size_t x = 0; x < width; x++) {
        bool wide = x + 1 < width && row[x + 1].character == 0;
        if (row[x].character != 0 && !same_cell(&row[x], &shown[x]))
            put_cell(screen, (int)x, y, &row[x], wide ? 2 : 1);
    }
    memcpy(shown, row, width * sizeof(*row));
}

void screen_show(struct screen *screen, const struct cells *cells)
{
    struct cells *shown = &screen->shown;
    if (shown->width != cells->width || shown->height != cells->height)
        screen->shown_all = false;
    if (!screen->shown_all) {
        if (cells_resize(shown, cells->width, cells->height) < 0)
            return;
        cells_clear(shown);
        strbuf_puts(&screen->out, clear_sequence);
        screen->x = screen->style = -1;
    }
    for (int y = 0; y < cells->height; y++) {
        size_t row = (size_t)y * (size_t)cells->width;
        show_row(screen, y, &cells->cell[row], &shown->cell[row]);
    }
    screen->shown_all = true;
    send(screen);
}

/* A second press in the same place, soon after the first. */
static void join_clicks(struct screen *screen, struct input *input)
{
    double now = clock_monotonic();
    bool again = now - screen->click_time < DOUBLE_CLICK_SECONDS && screen->click_x == input->x &&
                 screen->click_y == input->y;
    if (again)
        input->code = INPUT_DOUBLE_CLICK;
    screen->click_time = again ? 0 : now;
    screen->click_x = input->x;
    screen->click_y = input->y;
}

static void take_answer(struct screen *screen, bool light)
{
    screen->asked = 0;
    if (light != screen->light) {
        screen->light = light;
        set_theme(screen, screen->theme);
    }
}

/* The next input from what has come; the rest of a key that has only begun is waited for, that of
 * an answer comes when it comes. */
static bool next_input(struct screen *screen, struct input *ret)
{
    size_t taken;
    bool whole = false;
    if (screen->input_length == 0 && !fill(screen, 0))
        return false;
    while ((taken = input_parse(screen->input, screen->input_length, whole, ret)) == 0) {
        bool answer = input_begins_answer(screen->input, screen->input_length);
        whole = !fill(screen, answer ? 0 : ESCAPE_MILLISECONDS);
        if (whole && answer)
            return false;
    }
    screen->input_length -= taken;
    memmove(screen->input, &screen->input[taken], screen->input_length);
    return true;
}

bool screen_read(struct screen *screen, struct input *ret)
{
    while (next_input(screen, ret)) {
        if (ret->code == INPUT_LIGHT_BACKGROUND || ret->code == INPUT_DARK_BACKGROUND)
            take_answer(screen, ret->code == INPUT_LIGHT_BACKGROUND);
        else if (ret->code == INPUT_CLICK)
            join_clicks(screen, ret);
        if (ret->code != INPUT_NONE && ret->code < INPUT_LIGHT_BACKGROUND)
            return true;
    }
    return false;
}
