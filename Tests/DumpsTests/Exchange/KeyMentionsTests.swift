import DumpsExchange
import Testing

struct KeyMentionsTests {
    @Test func findsKeysOutsideOfComments() {
        var mentions = KeyMentions()
        mentions.add(
            #"""
            let a = config["one"]; /* config["two"] */ let b = settings["three"]
            // config["four"]
            let c = remoteConfig
                .configValue(forKey: "five"), d = "\(a)six", e = """
                seven
                """, f = "es\"caped"
            @RemoteConfigProperty(key: "eight", fallback: 1) var g
            let h = defaults.string(forKey: "nine"), url = "http://x", i = appConfig.bool(forKey: "ten")
            """#, file: "a.swift")
        #expect(mentions.reads.map(\.key) == ["one", "five", "eight", "ten"])
        #expect(mentions.reads.map(\.line) == [1, 4, 7, 8])
        let found = ["one", "two", "three", "four", "five", "six", "es\"caped", "nine", "http:"].filter {
            mentions.mentions($0)
        }
        #expect(found == ["one", "three", "five", "es\"caped", "nine"])
    }

    @Test func keyMentionsInUnfinishedCode() {
        for text in ["\"", "/*", "\"\"\"", "'\\", "`", "\"\\", "//", "\"a\nb\""] {
            var mentions = KeyMentions()
            mentions.add(text, file: "a.c")
            #expect(!mentions.mentions("nothing"))
        }
    }
}
