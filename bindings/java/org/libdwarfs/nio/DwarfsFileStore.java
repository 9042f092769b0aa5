// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.FileOwnerAttributeView;
import java.nio.file.attribute.FileStoreAttributeView;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.nio.file.FileStore;

/** An image as a store: full, and read-only. */
final class DwarfsFileStore extends FileStore {
    private final DwarfsFileSystem system;

    DwarfsFileStore(DwarfsFileSystem system) {
        this.system = system;
    }

    @Override
    public String name() {
        return system.file().toString();
    }

    @Override
    public String type() {
        return "dwarfs";
    }

    @Override
    public boolean isReadOnly() {
        return true;
    }

    @Override
    public long getTotalSpace() {
        system.requireOpen();
        return system.image().size();
    }

    @Override
    public long getUsableSpace() {
        return 0;
    }

    @Override
    public long getUnallocatedSpace() {
        return 0;
    }

    @Override
    public boolean supportsFileAttributeView(Class<? extends FileAttributeView> type) {
        return type == BasicFileAttributeView.class || type == PosixFileAttributeView.class ||
            type == FileOwnerAttributeView.class || type == UserDefinedFileAttributeView.class;
    }

    @Override
    public boolean supportsFileAttributeView(String name) {
        return system.supportedFileAttributeViews().contains(name);
    }

    @Override
    public <V extends FileStoreAttributeView> V getFileStoreAttributeView(Class<V> type) {
        return null;
    }

    @Override
    public Object getAttribute(String name) {
        switch (name) {
            case "totalSpace":
                return getTotalSpace();
            case "usableSpace":
            case "unallocatedSpace":
                return 0L;
            default:
                throw new UnsupportedOperationException("attribute " + name);
        }
    }
}
