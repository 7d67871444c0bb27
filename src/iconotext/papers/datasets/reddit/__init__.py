"""Posts of Reddit and albums of imgur, as they were saved."""
