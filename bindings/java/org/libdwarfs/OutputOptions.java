// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.util.ArrayList;
import java.util.List;

/**
 * What an extraction and an export have in common.
 *
 * @param <T> the class of the options
 */
public abstract sealed class OutputOptions<T extends OutputOptions<T>>
    permits ExtractOptions, ExportOptions {
    private static final long LARGEST_ID = 0xffff_ffffL;

    final List<byte[]> patterns = new ArrayList<>();
    Long uid;
    Long gid;
    boolean xattrs = true;
    boolean skipDevices;
    boolean skipSpecials;
    boolean continueOnError;

    abstract T self();

    private static long id(long number) {
        if (number < 0 || number > LARGEST_ID) {
            throw new IllegalArgumentException("not a number of an owner or a group: " + number);
        }
        return number;
    }

    /**
     * Only what matches this pattern or others that are added, with everything below it, and its
     * parent directories. By default everything.
     *
     * @param pattern such as "src/**&#47;*.c", "i:*.jpg" or "doc/"
     * @return this
     */
    public T addPattern(String pattern) {
        patterns.add(Names.terminated(pattern));
        return self();
    }

    /**
     * @param number one owner for all entries, instead of those in the image
     * @return this
     */
    public T uid(long number) {
        uid = id(number);
        return self();
    }

    /**
     * @param number one group for all entries, instead of those in the image
     * @return this
     */
    public T gid(long number) {
        gid = id(number);
        return self();
    }

    /**
     * @param keep whether extended attributes are written (default)
     * @return this
     */
    public T xattrs(boolean keep) {
        xattrs = keep;
        return self();
    }

    /**
     * @param skip whether block and character devices are left out
     * @return this
     */
    public T skipDevices(boolean skip) {
        skipDevices = skip;
        return self();
    }

    /**
     * @param skip whether fifos and sockets are left out
     * @return this
     */
    public T skipSpecials(boolean skip) {
        skipSpecials = skip;
        return self();
    }

    /**
     * @param goOn whether to go on after an entry that cannot be written, and to throw its error
     *     at the end. By default the first one stops the operation
     * @return this
     */
    public T continueOnError(boolean goOn) {
        continueOnError = goOn;
        return self();
    }
}
