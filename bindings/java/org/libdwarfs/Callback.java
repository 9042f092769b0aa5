// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;

/** What the library calls; all callbacks come through call(). */
abstract class Callback {
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    /** Why the last call has failed; the library reads it. */
    private volatile byte[] message;

    /**
     * @param a    a number or a pointer, by the kind of callback
     * @param b    another
     * @param text a string, or null
     * @param data bytes to read or to write, or null
     * @return a number that is not negative
     */
    abstract long run(long a, long b, byte[] text, byte[] data) throws Exception;

    /** Called by the library; the name and the types are in java.i. */
    final long call(long a, long b, byte[] text, byte[] data) {
        try {
            return run(a, b, text, data);
        } catch (Throwable thrown) {
            failure.compareAndSet(null, thrown);
            message = Names.terminated(thrown.toString().replace('\0', '?')
                .getBytes(StandardCharsets.UTF_8));
            if (thrown instanceof DwarfsException) {
                return ((DwarfsException) thrown).number();
            }
            return thrown instanceof IOException ? dwarfsConstants.DWARFS_ERR_IO :
                dwarfsConstants.DWARFS_ERR_CANCELLED;
        }
    }

    /** The first exception since the last call of this method, or null. */
    final Throwable takeFailure() {
        return failure.getAndSet(null);
    }

    /** Throw what one of the callbacks has thrown, or else the error of the library. */
    static DwarfsException explain(DwarfsException error, Callback... callbacks)
        throws IOException {
        Throwable[] thrown = Arrays.stream(callbacks)
            .map(callback -> callback == null ? null : callback.takeFailure())
            .filter(failure -> failure != null).toArray(Throwable[]::new);
        if (thrown.length == 0) {
            return error;
        }
        if (thrown[0] instanceof IOException) {
            throw (IOException) thrown[0];
        }
        if (thrown[0] instanceof RuntimeException) {
            throw (RuntimeException) thrown[0];
        }
        if (thrown[0] instanceof Error) {
            throw (Error) thrown[0];
        }
        error.initCause(thrown[0]);
        return error;
    }
}
