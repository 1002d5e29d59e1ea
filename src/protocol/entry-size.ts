/** How large entries may be. Every store keeps to the same limits. */

/** One entry may not be larger than this, blobs included. */
export const MAX_ENTRY_BYTES: number = 32 * 1024 * 1024

/** The largest output of a call that is stored whole; the rest of the entry is for what is stored beside it. */
export const MAX_OUTPUT_BYTES: number = MAX_ENTRY_BYTES - 1024 * 1024
