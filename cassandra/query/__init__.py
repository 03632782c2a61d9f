"""(interfaces first)"""
