// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.attribute.UserPrincipalNotFoundException;

/** Owners and groups: an image has their numbers only, and these are their names here. */
final class Principals extends UserPrincipalLookupService {
    record User(long number) implements UserPrincipal {
        @Override
        public String getName() {
            return Long.toString(number);
        }

        @Override
        public String toString() {
            return getName();
        }
    }

    record Group(long number) implements GroupPrincipal {
        @Override
        public String getName() {
            return Long.toString(number);
        }

        @Override
        public String toString() {
            return getName();
        }
    }

    @Override
    public UserPrincipal lookupPrincipalByName(String name) throws IOException {
        return new User(parse(name));
    }

    @Override
    public GroupPrincipal lookupPrincipalByGroupName(String name) throws IOException {
        return new Group(parse(name));
    }

    private static long parse(String name) throws IOException {
        try {
            return Integer.parseUnsignedInt(name) & 0xffffffffL;
        } catch (NumberFormatException error) {
            throw new UserPrincipalNotFoundException(name);
        }
    }
}
