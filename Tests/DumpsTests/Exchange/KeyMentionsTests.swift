import DumpsExchange
import Testing

/// Which keys code reads and mentions is in commands/check-parameters.txt.
struct KeyMentionsTests {
    @Test func keyMentionsInUnfinishedCode() {
        for text in ["\"", "/*", "\"\"\"", "'\\", "`", "\"\\", "//", "\"a\nb\""] {
            var mentions = KeyMentions()
            mentions.add(text, file: "a.c")
            #expect(!mentions.mentions("nothing"))
        }
    }
}
