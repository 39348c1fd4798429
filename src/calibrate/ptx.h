/* The kernels' code: kernels/calibrate.ptx, which the build makes a string of. */
#pragma once

extern const char calibrate_ptx[];
