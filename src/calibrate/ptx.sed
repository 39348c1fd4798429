# Lines of text as a string of C.
1i\
#include "calibrate/ptx.h"\
\
const char calibrate_ptx[] =
s/["\\]/\\&/g
s/.*/"&\\n"/
$a\
;
