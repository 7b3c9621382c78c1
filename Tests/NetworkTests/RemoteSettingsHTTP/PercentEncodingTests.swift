import RemoteSettingsModel
import Testing

@testable import RemoteSettingsHTTP

struct URLPercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("a/b?c=d", "a/b?c=d"), ("a b", "a%20b"), ("ü", "%C3%BC"), ("%20", "%20"), ("%e2%82%AC", "%e2%82%AC"),
        ("\"<>\\^`{|}#[]", "%22%3C%3E%5C%5E%60%7B%7C%7D%23%5B%5D"), ("-._~!$&'()*+,;=:@", "-._~!$&'()*+,;=:@"),
    ])
    func percentEncodingIsCompleted(_ text: String, _ expected: String) {
        #expect(PercentEncoding.complete(text) == expected)
        // A complete encoding remains unchanged.
        #expect(PercentEncoding.complete(expected) == expected)
    }

    @Test(arguments: ["%", "%2", "a%", "%zz", "%2x", "100% sure"]) func incompletePercentSignIsRefused(_ text: String) {
        #expect(PercentEncoding.complete(text) == nil)
    }

    @Test(arguments: [
        ("", ""), ("a+b", "a+b"), ("a%20b", "a b"), ("%c3%BC", "ü"), ("%", "%"), ("%2", "%2"), ("%zz", "%zz"),
        ("%2525", "%25"), ("%ff", "\u{FFFD}"), ("%00", "\u{0}"), ("ü%20", "ü "),
    ])
    func percentEncodingIsDecoded(_ text: String, _ expected: String) {
        #expect(PercentEncoding.decode(text) == expected)
    }

    /// Formatted dates are parsed back, including year boundaries and the first and last date.
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (951_782_399_000, "Mon, 28 Feb 2000 23:59:59 GMT"),
        (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_767_225_599_999, "Wed, 31 Dec 2025 23:59:59 GMT"),
        (253_402_300_799_000, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func httpDateRoundTrip(_ milliseconds: UInt64, _ text: String) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(HTTPDate.text(time) == text)
        #expect(HTTPDate.parse(text, now: time)?.seconds == time.seconds)
    }
}
