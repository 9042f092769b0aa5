// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.net.Proxy;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.net.spi.URLStreamHandlerProvider;

/**
 * Lets {@link URL} read the URIs of paths, such as {@code dwarfs:file:///x.dwarfs!/a.txt}; it is
 * installed by being in the class path. An image that is not open as a file system is opened for
 * each connection.
 */
public final class DwarfsUrlProvider extends URLStreamHandlerProvider {
    /** For the service loader. */
    public DwarfsUrlProvider() {
    }

    @Override
    public URLStreamHandler createURLStreamHandler(String protocol) {
        return DwarfsFileSystemProvider.SCHEME.equalsIgnoreCase(protocol) ? new Handler() : null;
    }

    private static final class Handler extends URLStreamHandler {
        @Override
        protected URLConnection openConnection(URL url) {
            return new DwarfsUrlConnection(url);
        }

        @Override
        protected URLConnection openConnection(URL url, Proxy proxy) {
            return openConnection(url);
        }

        /** "/path" in the context of another URL is in the image of that one. */
        @Override
        protected void parseURL(URL url, String spec, int start, int limit) {
            String image = url.getFile();
            int end = image == null ? -1 : image.lastIndexOf("!/");
            boolean isAbsolute = spec.startsWith("/", start);
            if (isAbsolute && end >= 0) {
                String whole = image.substring(0, end + 1) + spec.substring(start, limit);
                setURL(url, url.getProtocol(), "", -1, null, null, whole, null, url.getRef());
            } else {
                super.parseURL(url, spec, start, limit);
            }
            if (url.getFile().lastIndexOf("!/") < 0) {
                throw new IllegalArgumentException("no \"!/\" before the path in the image");
            }
        }
    }
}
