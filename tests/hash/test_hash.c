/* SPDX-License-Identifier: MIT */
/*
 * hash: known digests, of input in one piece and in many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "hash/hash.h"

static const struct {
	const char *name, *text, *hex;
} vectors[] = {
	{ "xxh3-64", "", "2d06800538d394c2" },
	{ "xxh3-128", "", "99aa06d3014798d86001c324468d497f" },
	{ "md5", "abc", "900150983cd24fb0d6963f7d28e17f72" },
	{ "sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ "sha224", "abc", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7" },
	{ "sha256", "abc",
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "sha384", "abc",
	  "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
	  "8086072ba1e7cc2358baeca134c825a7" },
	{ "sha512", "abc",
	  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
	{ "sha512-224", "abc",
	  "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa" },
	{ "sha512-256", "abc",
	  "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23" },
	{ "sha3-256", "abc",
	  "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532" },
	{ "sha3-512", "abc",
	  "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
	  "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0" },
	{ "ripemd160", "abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc" },
#if HAVE_BLAKE2
	{ "blake2b512", "abc",
	  "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
	  "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923" },
	{ "blake2s256", "abc",
	  "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982" },
#endif
};

#define VECTOR_COUNT (sizeof(vectors) / sizeof(vectors[0]))

static void known_digests_come_out(void **state)
{
	for (size_t i = 0; i < VECTOR_COUNT; i++) {
		char hex[DWARFS_DIGEST_HEX_BUFFER_BYTES];
		dwarfs_digest *digest = NULL;

		assert_int_equal(dwarfs_digest_new(vectors[i].name, &digest, NULL), 0);
		/* The second round checks that finish() resets the state. */
		for (int round = 0; round < 2; round++) {
			dwarfs_digest_update(digest, vectors[i].text,
					     strlen(vectors[i].text));
			dwarfs_digest_finish(digest, hex);
			assert_string_equal(hex, vectors[i].hex);
		}
		dwarfs_digest_free(digest);
	}
}

static void pieces_give_the_same_as_the_whole(void **state)
{
	uint8_t data[5000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i / 7);
	for (size_t i = 0; dwarfs_digest_name(i); i++) {
		char whole[DWARFS_DIGEST_HEX_BUFFER_BYTES],
			pieces[DWARFS_DIGEST_HEX_BUFFER_BYTES];
		dwarfs_digest *digest = NULL;

		assert_int_equal(dwarfs_digest_new(dwarfs_digest_name(i), &digest, NULL),
				 0);
		dwarfs_digest_update(digest, data, sizeof(data));
		dwarfs_digest_finish(digest, whole);
		dwarfs_digest_update(digest, NULL, 0);
		for (size_t at = 0, size = 0; at < sizeof(data); at += size) {
			size = at % 77 + 1 < sizeof(data) - at ? at % 77 + 1
							       : sizeof(data) - at;
			dwarfs_digest_update(digest, data + at, size);
		}
		dwarfs_digest_finish(digest, pieces);
		assert_string_equal(whole, pieces);
		dwarfs_digest_free(digest);
	}
}

static void letters_may_be_large(void **state)
{
	dwarfs_digest *digest = NULL;

	assert_int_equal(dwarfs_digest_new("SHA512-256", &digest, NULL), 0);
	dwarfs_digest_free(digest);
}

static void unknown_names_are_named(void **state)
{
	dwarfs_digest *digest = NULL;
	dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_digest_new("crc32", &digest, &err),
			 DWARFS_ERR_UNSUPPORTED);
	assert_non_null(strstr(dwarfs_error_message(err), "crc32"));
	assert_null(digest);
	dwarfs_error_free(err);
	dwarfs_digest_free(NULL);
}

static void sha_of_two_pieces(void **state)
{
	static const uint8_t abc[32] = {
		0x53, 0x04, 0x8e, 0x26, 0x81, 0x94, 0x1e, 0xf9, 0x9b, 0x2e, 0x29,
		0xb7, 0x6b, 0x4c, 0x7d, 0xab, 0xe4, 0xc2, 0xd0, 0xc6, 0x34, 0xfc,
		0x6d, 0x46, 0xe0, 0xe2, 0xf1, 0x31, 0x07, 0xe7, 0xaf, 0x23,
	};
	const uint8_t *text = (const uint8_t *)"abc";
	uint8_t out[DW_SHA512_256_BYTES];

	for (size_t cut = 0; cut <= 3; cut++) {
		dw_sha512_256((struct span){ text, cut },
			      (struct span){ text + cut, 3 - cut }, out);
		assert_memory_equal(out, abc, sizeof(abc));
	}
	dw_sha512_256((struct span){ text, 3 }, (struct span){ NULL, 0 }, out);
	assert_memory_equal(out, abc, sizeof(abc));
}

static void xxh3_of_pieces(void **state)
{
	auto_xxh3 struct xxh3 *xxh3 = NULL;
	uint8_t data[3000];
	uint64_t one[2], many[2];

	assert_true(dw_xxh3_64("", 0) == UINT64_C(0x2D06800538D394C2));
	dw_xxh3_128("", 0, one);
	assert_true(one[1] == UINT64_C(0x99AA06D3014798D8));
	assert_true(one[0] == UINT64_C(0x6001C324468D497F));

	memset(data, 0x5A, sizeof(data));
	assert_int_equal(dw_xxh3_new(&xxh3, NULL), 0);
	for (int round = 0; round < 2; round++) {
		dw_xxh3_reset(xxh3);
		for (size_t at = 0; at < sizeof(data); at += 250)
			dw_xxh3_update(xxh3, data + at, 250);
		assert_true(dw_xxh3_finish_64(xxh3) == dw_xxh3_64(data, sizeof(data)));
		dw_xxh3_128(data, sizeof(data), one);
		dw_xxh3_finish_128(xxh3, many);
		assert_memory_equal(one, many, sizeof(one));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_digests_come_out),
		cmocka_unit_test(pieces_give_the_same_as_the_whole),
		cmocka_unit_test(letters_may_be_large),
		cmocka_unit_test(unknown_names_are_named),
		cmocka_unit_test(sha_of_two_pieces),
		cmocka_unit_test(xxh3_of_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
