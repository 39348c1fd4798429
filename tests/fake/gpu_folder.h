/* The folder that FAKE_GPU names: what the fake daemon and the fake programs on a GPU tell the fake
 * NVML. It holds
 *
 *   devices         a UUID a line; the processes of each are listed by its place
 *   base            the script of the fake NVML, with "follow" in it and no processes
 *   process/PID     "KIND BYTES DEVICE" of each process that holds a GPU; KIND is compute, mps or
 *                   server
 *   calls           what the fake NVML was asked
 *   nvml            the script for FAKE_NVML_SCRIPT, made of all that each time something changes
 *
 * The driver knows processes by the host's PIDs. In a container FAKE_PROC names the host's /proc.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The device that CUDA_VISIBLE_DEVICES names first; 0 where it is not set. */
unsigned gpu_folder_device(void);

/* This process, as the host numbers it. */
pid_t gpu_folder_pid(void);

/* Sets what the process holds (KIND NULL: nothing more), and makes `nvml` anew. */
void gpu_folder_set(pid_t pid, const char *kind, uint64_t bytes, unsigned device);

/* The process is no client of MPS any more. It may be on the GPU without. */
void gpu_folder_drop_client(pid_t pid);
