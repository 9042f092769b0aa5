// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.ProviderMismatchException;
import java.util.Arrays;

/**
 * Names of images as strings. Names are bytes, usually UTF-8, which need not be valid. Each byte
 * that is not part of valid UTF-8 becomes one char from U+DC80 to U+DCFF, 0xDC00 plus the byte;
 * valid UTF-8 never becomes such a char on its own. So every name can be written as a string, different names
 * are different strings, and {@code encode(decode(name))} is the same bytes.
 */
public final class Names {
    private static final int ESCAPE = 0xdc00;

    private Names() {
    }

    /**
     * @param name any bytes
     * @return them as a string
     */
    public static String decode(byte[] name) {
        int ascii = 0;
        while (ascii < name.length && name[ascii] >= 0) {
            ascii++;
        }
        if (ascii == name.length) {
            return new String(name, StandardCharsets.ISO_8859_1);
        }
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        ByteBuffer in = ByteBuffer.wrap(name);
        CharBuffer out = CharBuffer.allocate(name.length);
        CoderResult result = decoder.decode(in, out, true);
        while (result.isError()) {
            out.put((char) (ESCAPE + (in.get() & 0xff)));
            decoder.reset();
            result = decoder.decode(in, out, true);
        }
        return out.flip().toString();
    }

    /**
     * @param name a string as decode() returns it, or any other
     * @return its bytes
     * @throws InvalidPathException for a NUL, and for half of a surrogate pair that is no escaped
     *     byte
     */
    public static byte[] encode(String name) {
        if (name.indexOf('\0') >= 0) {
            throw new InvalidPathException(name.replace('\0', '?'), "NUL in a name");
        }
        CharsetEncoder encoder = StandardCharsets.UTF_8.newEncoder();
        CharBuffer in = CharBuffer.wrap(name);
        ByteBuffer out = ByteBuffer.allocate(3 * name.length());
        CoderResult result = encoder.encode(in, out, true);
        while (result.isError()) {
            int escaped = in.get() - ESCAPE;
            if (escaped < 0x80 || escaped > 0xff) {
                throw new InvalidPathException(name, "half of a surrogate pair");
            }
            out.put((byte) escaped);
            encoder.reset();
            result = encoder.encode(in, out, true);
        }
        return Arrays.copyOf(out.array(), out.position());
    }

    /** For a parameter that is a string in C. */
    static byte[] terminated(byte[] name) {
        return Arrays.copyOf(name, name.length + 1);
    }

    /** For a parameter that is a string in C; null is null. */
    static byte[] terminated(String text) {
        return text == null ? null : terminated(encode(text));
    }

    /** The bytes of a path of the default file system, whatever its encoding, and a NUL. */
    static byte[] ofSystem(Path path) {
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw new ProviderMismatchException("not in the default file system: " + path);
        }
        // The path of the URI has the bytes of the name, those that are not ASCII as %XX.
        String uri = path.toUri().getRawPath();
        byte[] name = new byte[uri.length() + 1];
        int length = 0;
        for (int i = 0; i < uri.length(); i++) {
            char next = uri.charAt(i);
            if (next == '%') {
                name[length++] = (byte) Integer.parseInt(uri.substring(i + 1, i + 3), 16);
                i += 2;
            } else {
                name[length++] = (byte) next;
            }
        }
        while (length > 1 && name[length - 1] == '/') {
            name[--length] = 0;
        }
        return Arrays.copyOf(name, length + 1);
    }
}
