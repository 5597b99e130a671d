import ArgumentParser
import Tresor
import TresorStore
@main struct Main { static func main() {} }
