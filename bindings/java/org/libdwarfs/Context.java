// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.util.function.BiConsumer;

/**
 * What images and builders share: a block cache with one budget, worker threads, a log. Settings
 * other than the budget can be changed until the first image or builder uses the context. Images
 * and builders keep it alive: it may be closed before them.
 */
public final class Context implements AutoCloseable {
    /** Severity of a message. */
    public enum Level { FATAL, ERROR, WARN, INFO, VERBOSE, DEBUG, TRACE }

    private final Handle handle;

    /** With the defaults: no log, a worker for each processor that the thread may use, 512 MiB of
     * cache, but at most a quarter of the memory that the process may use. */
    public Context() throws DwarfsException {
        handle = new Handle("context", dwarfsJNI.dwarfs_context_new(),
            dwarfsJNI::delete_dwarfs_context);
    }

    /**
     * @param bytes the budget of the block cache
     * @return this
     */
    public Context cacheBytes(long bytes) throws DwarfsException {
        return set(context -> dwarfsJNI.dwarfs_context_set_cache_bytes(context,
            Image.notNegative(bytes)));
    }

    /**
     * @param workers how many threads a long operation starts; 0 to use the calling one
     * @return this
     */
    public Context workers(int workers) throws DwarfsException {
        return set(context -> dwarfsJNI.dwarfs_context_set_workers(context,
            Image.notNegative(workers)));
    }

    /**
     * @param level messages of this level and of more severe ones
     * @param log   receives them, from any thread; an exception in it goes to the uncaught
     *              exception handler of that thread
     * @return this
     */
    public Context log(Level level, BiConsumer<Level, String> log) throws DwarfsException {
        Callback callback = log == null ? null : new Callback() {
            @Override
            long run(long a, long b, byte[] text, byte[] data) {
                try {
                    log.accept(Level.values()[(int) a], Names.decode(text));
                } catch (RuntimeException | Error thrown) {
                    Thread thread = Thread.currentThread();
                    thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
                }
                return 0;
            }
        };
        return set(context -> dwarfsJNI.dwarfs_context_set_log(context, level.ordinal(),
            handle.reference(callback)));
    }

    /** @return bytes that were decompressed since the context exists */
    public long decodedBytes() {
        return handle.number(context -> dwarfsJNI.dwarfs_context_cache_count(context,
            dwarfsConstants.DWARFS_CACHE_DECODED_BYTES));
    }

    @Override
    public void close() {
        handle.close();
    }

    private interface Setter {
        long set(long context) throws DwarfsException;
    }

    private Context set(Setter setter) throws DwarfsException {
        long pointer = handle.acquire();
        try {
            setter.set(pointer);
            return this;
        } finally {
            handle.release();
        }
    }

    static Handle handleOf(Context context) {
        return context == null ? null : context.handle;
    }
}
