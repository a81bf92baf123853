// How many bytes a page of a list has.

/** One item at least. So much is read, rendered and written in some 10 ms of a thread; 100 items of 200 kB took half a second. */
export const pageBytesMax = 1024 * 1024;
