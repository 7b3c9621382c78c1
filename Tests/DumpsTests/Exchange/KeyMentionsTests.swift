import DumpsExchange
import Testing

/// commands/check-parameters.txt covers which keys are found in code.
struct KeyMentionsTests {
    @Test func keyMentionsInUnfinishedCode() {
        for text in ["\"", "/*", "\"\"\"", "'\\", "`", "\"\\", "//", "\"a\nb\""] {
            var mentions = KeyMentions()
            mentions.add(text, file: "a.c")
            #expect(!mentions.mentions("nothing"))
        }
    }
}
