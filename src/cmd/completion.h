/* Shell completions, made from the tables of commands and options. */
#pragma once

#include "base/strbuf.h"

void completion_bash(struct strbuf *out);
void completion_zsh(struct strbuf *out);
void completion_fish(struct strbuf *out);
