# Lines of text as lines of a C string.
s/["\\]/\\&/g
s/.*/"&\\n"/
