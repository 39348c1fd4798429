#include "tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "base/clock.h"
#include "tui/background.h"
#include "tui/curses_key.h"

enum look { LOOK_DIM = 1 << 0, LOOK_BOLD = 1 << 1, LOOK_REVERSE = 1 << 2 };

static const double DOUBLE_CLICK_SECONDS = 0.4;

/* An Escape that nothing follows for so long is the key. */
enum { ESCAPE_MILLISECONDS = 25 };

/* A terminal that has not answered by then will not. */
static const double ANSWER_SECONDS = 0.5;

/* The question for the background, and how its answer begins: to ncurses a key, behind which the
 * colour comes as characters, up to a bell or "ESC \". */
static const char ask_background[] = "\x1b]11;?\x1b\\";
static const char answer_start[] = "\x1b]11;";
enum { KEY_ANSWER = KEY_MAX + 0x1000, LONGEST_COLOUR = 64 };

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

struct screen {
    SCREEN *terminal;
    struct cells shown; /* what the terminal shows */
    bool shown_all;     /* false: it is to be written anew */

    unsigned theme;
    bool light;   /* the background, as far as is known */
    double asked; /* for the background, monotonic; 0: not, or it has answered */
    bool mouse;
    attr_t attributes[STYLE_COUNT];
    short pair[STYLE_COUNT];

    bool answering; /* what comes is the colour */
    char colour[LONGEST_COLOUR];
    size_t colour_length;

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

static bool without_colour(unsigned theme)
{
    const char *no_color = getenv("NO_COLOR");
    return theme == THEME_MONO || (no_color && no_color[0]) || !has_colors();
}

static attr_t attributes_of(unsigned char look)
{
    attr_t attributes = A_NORMAL;
    if (look & LOOK_DIM)
        attributes |= A_DIM;
    if (look & LOOK_BOLD)
        attributes |= A_BOLD;
    if (look & LOOK_REVERSE)
        attributes |= A_REVERSE;
    return attributes;
}

static void set_theme(struct screen *screen, unsigned theme)
{
    bool mono = without_colour(theme);
    bool light = theme == THEME_LIGHT || (theme == THEME_AUTO && screen->light);
    bool many = COLORS >= 256;
    for (int i = 0; i < STYLE_COUNT; i++) {
        const struct style_look *look = &looks[i];
        short colour =
            many ? (light ? look->light256 : look->dark256) : (light ? look->light8 : look->dark8);
        screen->pair[i] = 0;
        screen->attributes[i] = attributes_of(mono ? look->mono : look->look);
        if (mono || colour < 0)
            continue;
        /* A dimmed colour that is dim by itself could not be read. */
        screen->attributes[i] &= ~A_DIM;
        screen->pair[i] = (short)(i + 1);
        init_pair((short)(i + 1), colour, -1);
    }
    screen->theme = theme;
    screen->shown_all = false;
}

static void set_mouse(struct screen *screen, bool mouse)
{
    mousemask(mouse ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
    mouseinterval(0);
    screen->mouse = mouse;
}

/* Where COLORFGBG does not tell, the terminal is asked; its answer comes as an input, early or
 * late. tmux and screen would answer for themselves or not at all, the consoles show the question.
 */
static void ask(struct screen *screen)
{
    static const char *const silent[] = {"screen", "tmux", "linux", "vt", "ansi", "cons", NULL};
    if (screen->theme != THEME_AUTO || told_background() || is_one_of(terminal_type(), silent) ||
        !has_colors())
        return;
    if (write(STDOUT_FILENO, ask_background, sizeof(ask_background) - 1) > 0)
        screen->asked = clock_monotonic();
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
    flushinp();
    endwin();
}

/* A type that this host does not describe is taken for one like all others. */
static SCREEN *open_terminal(void)
{
    static const char *const types[] = {NULL, "xterm-256color", "xterm", "vt100"};
    SCREEN *terminal = NULL;
    use_tioctl(TRUE); /* COLUMNS and LINES may be of before */
    for (size_t i = 0; i < ARRAY_SIZE(types) && !terminal; i++)
        terminal = newterm(types[i], stdout, stdin);
    return terminal;
}

static void set_up_terminal(void)
{
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    set_escdelay(ESCAPE_MILLISECONDS);
    typeahead(-1); /* a frame is written as a whole */
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    leaveok(stdscr, TRUE);
    define_key(answer_start, KEY_ANSWER);
    if (has_colors()) {
        start_color();
        use_default_colors();
    }
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
    screen->terminal = open_terminal();
    if (!screen->terminal) {
        free(screen);
        return -ENOPKG;
    }
    set_up_terminal();
    screen->light = is_light(told_background());
    set_theme(screen, prefs->theme);
    set_mouse(screen, prefs->mouse != 0);
    ask(screen);
    *ret = screen;
    return 0;
}

void screen_close(struct screen *screen)
{
    if (!screen)
        return;
    give_back(screen);
    delscreen(screen->terminal);
    cells_free(&screen->shown);
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

/* The next frame takes the terminal again. */
void screen_suspend(struct screen *screen)
{
    give_back(screen);
    stop_here();
    screen_resized(screen);
}

void screen_size(const struct screen *screen, int *ret_width, int *ret_height)
{
    (void)screen;
    getmaxyx(stdscr, *ret_height, *ret_width);
}

void screen_resized(struct screen *screen)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resize_term(size.ws_row, size.ws_col);
    screen->shown_all = false;
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

static void put_cell(struct screen *screen, int x, int y, const struct cell *cell)
{
    cchar_t character;
    wchar_t text[2] = {(wchar_t)cell->character, L'\0'};
    setcchar(&character, text, screen->attributes[cell->style], screen->pair[cell->style], NULL);
    mvadd_wch(y, x, &character);
}

/* Returns whether anything had changed. */
static bool show_row(struct screen *screen, int y, const struct cell *row, struct cell *shown)
{
    size_t width = (size_t)screen->shown.width;
    if (memcmp(row, shown, width * sizeof(*row)) == 0)
        return false;
    for (size_t x = 0; x < width; x++)
        if (row[x].character != 0 && memcmp(&row[x], &shown[x], sizeof(*row)) != 0)
            put_cell(screen, (int)x, y, &row[x]);
    memcpy(shown, row, width * sizeof(*row));
    return true;
}

void screen_show(struct screen *screen, const struct cells *cells)
{
    struct cells *shown = &screen->shown;
    bool changed =
        !screen->shown_all || shown->width != cells->width || shown->height != cells->height;
    if (changed) {
        if (cells_resize(shown, cells->width, cells->height) < 0)
            return;
        cells_clear(shown);
        clear();
    }
    for (int y = 0; y < cells->height; y++) {
        size_t row = (size_t)y * (size_t)cells->width;
        changed |= show_row(screen, y, &cells->cell[row], &shown->cell[row]);
    }
    screen->shown_all = true;
    if (changed)
        refresh();
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

static void read_mouse(struct screen *screen, struct input *ret)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return;
    ret->x = event.x;
    ret->y = event.y;
    if (event.bstate & BUTTON4_PRESSED)
        ret->code = INPUT_WHEEL_UP;
    else if (event.bstate & BUTTON5_PRESSED)
        ret->code = INPUT_WHEEL_DOWN;
    else if (event.bstate & BUTTON1_PRESSED) {
        ret->code = INPUT_CLICK;
        join_clicks(screen, ret);
    }
}

static void take_answer(struct screen *screen)
{
    enum background background = background_of_colour(screen->colour);
    bool light = background == BACKGROUND_LIGHT;
    screen->answering = false;
    screen->asked = 0;
    if (background != BACKGROUND_UNKNOWN && light != screen->light) {
        screen->light = light;
        set_theme(screen, screen->theme);
    }
}

/* Takes the character where it belongs to an answer, which may come late and in pieces. */
static bool take_of_answer(struct screen *screen, int kind, wint_t key)
{
    if (kind == KEY_CODE_YES) {
        screen->answering = key == KEY_ANSWER;
        screen->colour_length = 0;
        return screen->answering;
    }
    if (!screen->answering)
        return false;
    bool ends = key == '\a' || key == '\\' || screen->colour_length == LONGEST_COLOUR - 1;
    screen->colour[screen->colour_length++] = ends || key > 0x7F ? '\0' : (char)key;
    if (ends)
        take_answer(screen);
    return true;
}

bool screen_read(struct screen *screen, struct input *ret)
{
    for (;;) {
        wint_t key;
        int kind = get_wch(&key);
        *ret = (struct input){0};
        if (kind == ERR)
            return false;
        if (take_of_answer(screen, kind, key))
            continue;
        if (kind == KEY_CODE_YES && key == KEY_MOUSE)
            read_mouse(screen, ret);
        else
            ret->code = curses_key_code(kind == KEY_CODE_YES, key);
        if (ret->code != INPUT_NONE)
            return true;
    }
}
