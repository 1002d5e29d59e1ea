/** Size limits of entries, the same in every store. */

/** The largest entry, blobs included. */
export const MAX_ENTRY_BYTES: number = 32 * 1024 * 1024

/** The largest output of a call that is stored whole; the difference is for the entry's other fields. */
export const MAX_OUTPUT_BYTES: number = MAX_ENTRY_BYTES - 1024 * 1024
